// Plays one episode: the candidate's own pi agent, with its model and its tools behind the shim (design 5).
//
// This file and termination.ts are ours and stand outside the candidate's folder, so that no file of its shadows them.
import { connection, http } from "./shim_fetch.ts";
import { decide, type Signal } from "./termination.ts";

if (process.env.PI_WAIT) await (await import("./warm_up.ts")).warmUp();

interface ToolSpec {
	name: string;
	description: string;
	parameters: object;
}

interface Task {
	instruction: string;
	system: string;
	max_turns: number;
	max_output_tokens: number;
	context_window: number | null;
	tools: ToolSpec[];
}

Error.stackTraceLimit = 2; // the last 500 characters of stderr become the note: the message must fit in

const shimUrl = environment("PI_SHIM_URL");
const token = environment("PI_SHIM_TOKEN");
const SUBMIT = "submit";

function environment(name: string): string {
	const value = process.env[name];
	if (!value) throw new Error(`the environment variable '${name}' is not set: run this file under wmo-shim`);
	return value;
}

/** Calls the shim, by node:http: fetch with its web streams takes a third of a fast turn longer. */
function call<T>(method: "GET" | "POST", route: string, body?: object): Promise<T> {
	const text = body === undefined ? "" : JSON.stringify(body);
	const headers = { authorization: `Bearer ${token}`, "content-length": Buffer.byteLength(text) };
	return new Promise((resolve, reject) => {
		const sent = http.request(shimUrl + route, { method, headers, agent: connection }, (response) => {
			let answer = "";
			response.setEncoding("utf8");
			response.on("data", (chunk: string) => (answer += chunk));
			response.on("end", () => {
				if (response.statusCode === 200) resolve(JSON.parse(answer));
				else reject(new Error(`the shim answered ${response.statusCode} to ${method} ${route}`));
			});
		});
		sent.on("error", reject);
		sent.end(text);
	});
}

// The candidate loads while the shim answers.
const [task, { Agent }] = await Promise.all([call<Task>("GET", "/task"), import("./harness/src/index.ts")]);

let turns = 0;
let nudges = 0;
let submitted: string | undefined;
let queue: Promise<unknown> = Promise.resolve();

/** Runs `work` after all earlier work. pi starts tool calls in parallel; the order of their effects must not vary. */
function inOrder<T>(work: () => Promise<T>): Promise<T> {
	const result = queue.then(work);
	queue = result.catch(() => undefined);
	return result;
}

async function act(name: string, args: unknown) {
	if (submitted !== undefined) throw new Error("the episode is over: an answer was submitted");
	const result = await call<{ content: string; is_error: boolean }>("POST", "/tool", { name, arguments: args });
	if (result.is_error) throw new Error(result.content);
	return { content: [{ type: "text", text: result.content }], details: {} };
}

async function submit(args: { answer: string }) {
	submitted ??= args.answer;
	return { content: [{ type: "text", text: "submitted" }], details: {}, terminate: true };
}

function agentTool({ name, description, parameters }: ToolSpec) {
	const work = name === SUBMIT ? submit : (args: unknown) => act(name, args);
	return { name, label: name, description, parameters, execute: (_id: string, args: any) => inOrder(() => work(args)) };
}

const agent = new Agent({
	initialState: {
		systemPrompt: task.system,
		model: {
			id: "wmo",
			name: "wmo",
			api: "openai-completions",
			provider: "wmo",
			baseUrl: `${shimUrl}/v1`,
			reasoning: false,
			input: ["text"],
			cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
			contextWindow: task.context_window ?? 0, // 0 is pi's own default: unknown, nothing is clamped to it
			maxTokens: task.max_output_tokens,
		},
		tools: task.tools.map(agentTool),
	},
	getApiKey: () => token,
});

agent.subscribe((event: any) => {
	if (event.type !== "turn_end" || event.message.role !== "assistant") return;
	turns += 1;
	if (event.message.content.some((part: any) => part.type === "toolCall")) nudges = 0;
	// The loop has no other brake: an aborted agent asks for no further completion.
	if (submitted !== undefined || turns >= task.max_turns) agent.abort();
});

let message = task.instruction;
for (;;) {
	await agent.prompt(message);
	const decision = decide({
		submitted: submitted !== undefined,
		turns,
		maxTurns: task.max_turns,
		maxOutputTokens: task.max_output_tokens,
		nudges,
		agentError: agent.state.errorMessage,
		signal: await call<Signal>("GET", "/signal"),
	});
	if (decision.kind === "done") {
		await call("POST", "/done", { answer: submitted ?? "", reason: decision.reason, note: decision.note });
		process.exit(0);
	}
	nudges += 1;
	message = decision.text;
}
