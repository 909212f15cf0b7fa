// fetch for the one address that an agent can reach, the shim, by node:http.
//
// node's own fetch loads undici at its first use, 50 ms on a machine where a whole warm episode takes 100, and every
// answer crosses web streams. What pi's model client needs of a response is here; for more there is node's own class.
export const http = process.getBuiltinModule("node:http"); // an import would touch every export, and so load undici

export const connection = new http.Agent({ keepAlive: true, maxSockets: 1 });

class ShimHeaders {
	#values = new Map<string, string>();

	constructor(from?: any) {
		if (!from) return;
		const pairs = typeof from[Symbol.iterator] === "function" ? from : Object.entries(from);
		for (const [name, value] of pairs) this.append(name, value);
	}
	append(name: string, value: string) {
		const before = this.get(name);
		this.set(name, before === null ? value : `${before}, ${value}`);
	}
	delete(name: string) {
		this.#values.delete(name.toLowerCase());
	}
	get(name: string) {
		return this.#values.get(name.toLowerCase()) ?? null;
	}
	has(name: string) {
		return this.#values.has(name.toLowerCase());
	}
	set(name: string, value: string) {
		this.#values.set(name.toLowerCase(), String(value));
	}
	forEach(visit: (value: string, name: string, all: ShimHeaders) => void) {
		for (const [name, value] of this.#values) visit(value, name, this);
	}
	entries() {
		return this.#values.entries();
	}
	keys() {
		return this.#values.keys();
	}
	values() {
		return this.#values.values();
	}
	[Symbol.iterator]() {
		return this.#values.entries();
	}
}

/** Answers as fetch does, for http addresses; the body is an async iterable of bytes. */
function shimFetch(url: any, init: any = {}): Promise<any> {
	const headers = Object.fromEntries(new ShimHeaders(init.headers));
	if (typeof init.body === "string") headers["content-length"] = String(Buffer.byteLength(init.body));
	return new Promise((resolve, reject) => {
		const sent = http.request(String(url), { method: init.method ?? "GET", headers, signal: init.signal });
		sent.on("error", reject);
		sent.on("response", (body) => {
			const text = async () => {
				let all = "";
				body.setEncoding("utf8");
				for await (const chunk of body) all += chunk;
				return all;
			};
			const status = body.statusCode!;
			const told = Object.entries(body.headers).map(([name, value]) => [name, String(value)]);
			resolve({
				ok: status >= 200 && status < 300,
				status,
				statusText: body.statusMessage,
				url: String(url),
				headers: new ShimHeaders(told),
				body,
				text,
				json: async () => JSON.parse(await text()),
			});
		});
		sent.end(init.body ?? undefined);
	});
}

/** Stands in for undici's FormData: pi's client asks of every body whether it is one, and that alone would load it. */
class NoFormData {
	constructor() {
		throw new TypeError("FormData is not there: an agent reaches its shim alone, which takes no forms");
	}
}

Object.assign(globalThis, { fetch: shimFetch, Headers: ShimHeaders, FormData: NoFormData });
