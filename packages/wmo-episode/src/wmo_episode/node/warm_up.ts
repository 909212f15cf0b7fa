// What a process of the pool does before it knows its episode: loads pi's libraries and runs them once on a canned
// answer, so that they are loaded and partly compiled. No candidate's file is there yet.
import { readSync } from "node:fs";
import { streamSimple } from "@earendil-works/pi-ai/compat";

const CHUNKS = [
	{ choices: [{ index: 0, delta: { role: "assistant", content: "", tool_calls: [call()] }, finish_reason: null }] },
	{ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
	{ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
];
const TOOL = { name: "bash", description: "", parameters: { type: "object", properties: { command: { type: "string" } } } };
const MODEL = {
	id: "wmo",
	name: "wmo",
	api: "openai-completions",
	provider: "wmo",
	baseUrl: "http://127.0.0.1/v1",
	reasoning: false,
	input: ["text"],
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
	contextWindow: 0,
	maxTokens: 1,
};

function call() {
	return { index: 0, id: "call", type: "function", function: { name: "bash", arguments: '{"command":"true"}' } };
}

/** Answers in the place of the shim, which is not there yet. */
async function cannedAnswer() {
	const lines = [...CHUNKS.map((chunk) => JSON.stringify({ id: "1", object: "chat.completion.chunk", ...chunk })), "[DONE]"];
	const headers = new Headers([["content-type", "text/event-stream"]]);
	async function* body() {
		yield Buffer.from(lines.map((line) => `data: ${line}\n\n`).join(""));
	}
	return { ok: true, status: 200, statusText: "OK", url: MODEL.baseUrl, headers, body: body() };
}

/** Warms up, then waits for the end of standard input: the host closes it once the candidate's files are in place. */
export async function warmUp(): Promise<void> {
	const real = globalThis.fetch;
	Object.assign(globalThis, { fetch: cannedAnswer });
	const context = { systemPrompt: "", messages: [{ role: "user", content: "", timestamp: 0 }], tools: [TOOL] };
	for await (const _event of streamSimple(MODEL as any, context as any, { apiKey: "none" })) continue;
	Object.assign(globalThis, { fetch: real });
	readSync(0, Buffer.alloc(1));
}
