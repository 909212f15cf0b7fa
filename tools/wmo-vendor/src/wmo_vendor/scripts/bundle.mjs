// Bundles the libraries that pi's source imports into OUT/node_modules, a few files instead of several hundred.
//
//   node bundle.mjs VENDOR OUT
//
// VENDOR holds node_modules as `npm ci` left it; OUT/node_modules is made new. The searched source is never bundled.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

// What resolves from the bundle, and nothing else: package -> exports key -> file name without its suffix.
const PACKAGES = {
	"@earendil-works/pi-ai": { ".": "index", "./compat": "compat" },
	ignore: { ".": "index" },
	typebox: { ".": "index" },
	yaml: { ".": "index" },
};
const COMMONJS = new Set(["ignore", "yaml"]);
const WITH_DEFAULT = new Set(["typebox"]);

// CommonJS code inside an ES module needs a `require` for node's builtins. It is made where it is used: making one for
// every chunk took a tenth of the time that the libraries take to load.
const BANNER = [
	'import { createRequire as wmoCreateRequire } from "node:module";',
	"let wmoRequire;",
	"const require = (name) => (wmoRequire ??= wmoCreateRequire(import.meta.url))(name);",
].join("\n");

const [vendor, out] = process.argv.slice(2).map((path) => resolve(path));
const vendorRequire = createRequire(join(vendor, "package.json"));
const esbuild = vendorRequire("esbuild");

/** Gives the text of an entry that exports the same names as `specifier` does in node. */
async function entryText(specifier) {
	const from = JSON.stringify(specifier);
	if (!COMMONJS.has(specifier)) {
		const also = WITH_DEFAULT.has(specifier) ? `export { default } from ${from};\n` : "";
		return `export * from ${from};\n${also}`;
	}
	// `export *` from CommonJS carries no static names, so each one that node sees is spelled out.
	const seen = Object.keys(await import(pathToFileURL(vendorRequire.resolve(specifier)).href));
	const names = seen.filter((name) => name !== "default" && /^[A-Za-z_$][\w$]*$/.test(name));
	const lines = names.map((name) => `export const ${name} = whole.${name};`);
	return [`import whole from ${from};`, "export default whole;", ...lines, ""].join("\n");
}

async function writeEntries(directory) {
	const entryPoints = {};
	for (const [name, entries] of Object.entries(PACKAGES)) {
		for (const [key, file] of Object.entries(entries)) {
			const path = join(directory, name, `${file}.mjs`);
			await mkdir(dirname(path), { recursive: true });
			await writeFile(path, await entryText(name + key.slice(1)));
			entryPoints[`${name}/${file}`] = path;
		}
	}
	return entryPoints;
}

async function writeManifests(modules) {
	for (const [name, entries] of Object.entries(PACKAGES)) {
		const { version, license } = vendorRequire(join(vendor, "node_modules", name, "package.json"));
		const exports = Object.fromEntries(Object.entries(entries).map(([key, file]) => [key, `./${file}.js`]));
		const manifest = { name, version, license, type: "module", exports };
		await writeFile(join(modules, name, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
	}
}

const modules = join(out, "node_modules");
const entries = join(out, "entries");
await esbuild.build({
	entryPoints: await writeEntries(entries),
	outdir: modules,
	// Inside pi-ai, whose `exports` hide it: a chunk is not a package that a candidate could import by name.
	chunkNames: "@earendil-works/pi-ai/chunks/[name]-[hash]",
	absWorkingDir: vendor,
	nodePaths: [join(vendor, "node_modules")],
	bundle: true,
	splitting: true,
	format: "esm",
	platform: "node",
	target: "node22.19",
	minifyWhitespace: true,
	minifySyntax: true,
	banner: { js: BANNER },
	logLevel: "error",
});
await writeManifests(modules);
await rm(entries, { recursive: true });
