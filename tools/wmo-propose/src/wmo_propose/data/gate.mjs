// Checks a candidate's source with node's own parser and module loader, without running a line of it.
//
//     node --experimental-vm-modules --no-warnings gate.mjs RUNNER_DIR [--link]
//
// RUNNER_DIR is laid out as for an episode: entry.ts, harness/<tree>, node_modules. Prints {"problems": [sentence, ...]}.
// Without --link the files are parsed only.
//
// Parsing: every source file goes through stripTypeScriptTypes, as node does before it runs one. Linking: node loads what
// entry.ts asks of a candidate behind a module that throws. Modules are evaluated in import order and only after the
// whole graph is linked, so reaching the throw proves that every import resolves, and nothing after it is evaluated.

import { existsSync, readFileSync, readdirSync, realpathSync } from "node:fs";
import { isBuiltin, registerHooks, stripTypeScriptTypes } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import vm from "node:vm";

const SOURCE = /\.[mc]?[jt]s$/;
const ROOT = "wmo-gate:root";
const STOP = "wmo-gate:stop";
const STUB = "wmo-gate:stub";
const ENTRY = "src/index.ts";
const MAX_PROBLEMS = 50;
const MAX_CHARS = 300; // all of it must fit what is kept of a runner's output (64 KiB)

const runner = realpathSync(resolve(process.argv[2]));
const harness = `${pathToFileURL(join(runner, "harness"))}/`;
const packagesDir = realpathSync(join(runner, "node_modules"));
const packages = `${pathToFileURL(packagesDir)}/`;
const problems = new Set();
const broken = new Set();

/** The path inside the candidate's tree of a module URL. */
const inTree = (url) => decodeURIComponent(url.slice(harness.length));

/** Node's message without our own folder in it: the words must be the same wherever the check runs. */
function plain(error) {
	const line = String(error.message).split("\n")[0];
	return [harness, `${runner}/harness/`, `${runner}/`].reduce((text, prefix) => text.replaceAll(prefix, ""), line);
}

function sourcePaths(directory, prefix = "") {
	return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
		const path = prefix + entry.name;
		if (entry.isDirectory()) return sourcePaths(join(directory, entry.name), `${path}/`);
		return SOURCE.test(path) ? [path] : [];
	});
}

/** Packages by the name that an import uses: `yaml`, `@scope/name`. */
function packageNames(directory) {
	return readdirSync(directory)
		.flatMap((name) => (name.startsWith("@") ? readdirSync(join(directory, name)).map((part) => `${name}/${part}`) : [name]))
		.filter((name) => !name.startsWith("."))
		.sort();
}

/** Parse one file as node would, and note in `broken` where it does not. */
function parse(path) {
	try {
		stripTypeScriptTypes(readFileSync(join(runner, "harness", path), "utf8"));
	} catch (error) {
		broken.add(path);
		problems.add(`'${path}' does not parse: ${plain(error)}`);
	}
}

/** Compile (never run) what node would hand to V8: some errors only V8 finds, and it takes no types in .js files. */
function compiles(path, source, format) {
	const typescript = format.endsWith("-typescript");
	const code = typescript ? stripTypeScriptTypes(source) : source;
	try {
		if (format.startsWith("module")) new vm.SourceTextModule(code);
		else vm.compileFunction(code, ["exports", "require", "module", "__filename", "__dirname"]);
		return true;
	} catch (error) {
		const typed = !typescript && stripTypeScriptTypes(source) !== source;
		problems.add(`'${path}' does not parse: ${typed ? "TypeScript syntax belongs in a .ts file" : plain(error)}`);
		return false;
	}
}

function explain(specifier, error) {
	if (error.code === "ERR_UNSUPPORTED_DIR_IMPORT") return "it is a directory; name the file";
	if (error.code !== "ERR_MODULE_NOT_FOUND") return plain(error);
	if (/^[./]/.test(specifier)) return "the tree has no such file (name it with its extension)";
	return `there is no such package; available are node's own modules and ${packageNames(packagesDir).join(", ")}`;
}

/** Resolve an import that a file of the candidate makes. Gives a stub after a problem, so that every one is found. */
function resolveImport(specifier, context, next) {
	const importer = inTree(context.parentURL);
	let problem;
	try {
		const found = next(specifier, context);
		const bare = !/^([./]|[a-z]+:)/.test(specifier);
		if (found.url.startsWith(harness) || isBuiltin(found.url) || (bare && found.url.startsWith(packages))) return found;
		problem = found.url.startsWith("node:") ? "node has no such module" : "it lies outside the candidate's tree";
	} catch (error) {
		problem = explain(specifier, error);
	}
	problems.add(`'${importer}' imports '${specifier}': ${problem}`);
	return { url: STUB, format: "module", shortCircuit: true };
}

function loadSource(url, context, next) {
	const path = inTree(url);
	const empty = { format: "module", source: "", shortCircuit: true };
	if (broken.has(path)) return empty;
	try {
		const loaded = next(url, context);
		const code = /^(module|commonjs)/.test(loaded.format);
		if (!code || compiles(path, String(loaded.source ?? readFileSync(fileURLToPath(url))), loaded.format)) return loaded;
	} catch (error) {
		problems.add(`'${path}' cannot be loaded: ${plain(error)}`);
	}
	return empty;
}

/** Say which file asked for an export that is not there: node writes its path or URL on the first line of the stack. */
function explainLink(error) {
	const place = String(error.stack).split("\n")[0].match(/^(?:file:\/\/)?(.*):\d+$/)?.[1] ?? "";
	const prefix = join(runner, "harness/");
	const importer = place.startsWith(prefix) ? `'${place.slice(prefix.length)}'` : "the runner's entry";
	return `${importer} does not link: ${plain(error)}`;
}

async function link() {
	const linked = new Error("linked");
	globalThis.wmoGateLinked = linked;
	const own = {
		[ROOT]: `import "${STOP}"; import { Agent } from "${harness}${ENTRY}";`,
		[STOP]: "throw globalThis.wmoGateLinked;",
		[STUB]: "",
	};
	registerHooks({
		resolve(specifier, context, next) {
			if (context.parentURL?.startsWith(harness)) return resolveImport(specifier, context, next);
			return specifier in own ? { url: specifier, format: "module", shortCircuit: true } : next(specifier, context);
		},
		load(url, context, next) {
			if (url in own) return { format: "module", source: own[url], shortCircuit: true };
			return url.startsWith(harness) ? loadSource(url, context, next) : next(url, context);
		},
	});
	try {
		await import(ROOT);
	} catch (error) {
		// After another problem the stubs in its place would make links fail that are sound.
		if (error !== linked && problems.size === 0) problems.add(explainLink(error));
	}
}

sourcePaths(join(runner, "harness")).forEach(parse);
if (process.argv[3] === "--link") {
	if (existsSync(join(runner, "harness", ENTRY))) await link();
	else problems.add(`'${ENTRY}' is missing: it is the agent's entry`);
}
const answer = [...problems].sort().slice(0, MAX_PROBLEMS).map((problem) => problem.slice(0, MAX_CHARS));
process.stdout.write(`${JSON.stringify({ problems: answer })}\n`);
