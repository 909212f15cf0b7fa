// Plays one model turn through the bundle, so that V8's code for that path lands in the compile cache.
//
//   NODE_COMPILE_CACHE=DIR node warm.mjs RUNTIME
//
// The cache is keyed by file path: RUNTIME must be the bundle's final place.
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const runtime = resolve(process.argv[2]);
const load = (file) => import(pathToFileURL(join(runtime, "node_modules", file)).href);

const delta = { role: "assistant", content: "on it", tool_calls: [toolCall()] };
const CHUNKS = [
	{ choices: [{ index: 0, delta }] },
	{ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
	{ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
].map((part) => ({ id: "warm", object: "chat.completion.chunk", created: 0, model: "warm", ...part }));

function toolCall() {
	return { index: 0, id: "call-0", type: "function", function: { name: "bash", arguments: '{"command":"true"}' } };
}

const server = createServer((request, response) => {
	request.resume().on("end", () => {
		response.writeHead(200, { "content-type": "text/event-stream", connection: "close" });
		response.end([...CHUNKS.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((line) => `data: ${line}\n\n`).join(""));
	});
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

const { streamSimple, Type } = await load("@earendil-works/pi-ai/compat.js");
await Promise.all(["@earendil-works/pi-ai/index.js", "typebox/index.js", "yaml/index.js", "ignore/index.js"].map(load));
const model = {
	id: "warm",
	name: "warm",
	api: "openai-completions",
	provider: "wmo",
	baseUrl: `http://127.0.0.1:${server.address().port}/v1`,
	reasoning: false,
	input: ["text"],
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
	contextWindow: 32768,
	maxTokens: 64,
};
const tools = [{ name: "bash", description: "run", parameters: Type.Object({ command: Type.String() }) }];
const messages = [{ role: "user", content: "go", timestamp: 0 }];
const turn = await streamSimple(model, { systemPrompt: "s", messages, tools }, { apiKey: "none" }).result();
server.close();
if (turn.stopReason !== "toolUse") {
	console.error(`the bundled model client failed: ${turn.errorMessage ?? turn.stopReason}`);
	process.exitCode = 1;
}
