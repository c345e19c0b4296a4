#!/usr/bin/env node
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Loaded on demand, and never by bundled code. */
const ELSEWHERE = ["./launch.js", "./spool.js"];

/** Bundled: each package is ten times as large as the part that is used. */
export const VENDORED = [
  "gpt-tokenizer/encoding/o200k_base",
  "@modelcontextprotocol/client",
  "@modelcontextprotocol/client/stdio",
  "@modelcontextprotocol/server",
  "@modelcontextprotocol/server/stdio",
  "@opentelemetry/exporter-trace-otlp-http",
  "@opentelemetry/resources",
  "@opentelemetry/sdk-trace-base",
  "htmlparser2",
];

/** The parts of packages in dist/protocol/daemon-contract.js. */
const CONTRACT_INPUTS = ["node_modules/ajv/dist/runtime/ucs2length.js"];

const LICENCES = "LICENSES.txt";
const OPTIONS = {
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  minify: true,
  logLevel: "warning",
};

export async function bundle(folder = root) {
  // Leftovers of an earlier build would hide that this one failed.
  rmSync(join(folder, "dist", "vendor"), { recursive: true, force: true });
  const { build } = await import("esbuild");
  await bundleFastExec(build, join(folder, "dist", "cli", "fast-exec.js"));
  await vendor(build, folder);
  copyAssets(folder);
}

/** Copies each `assets` folder beside the compiled modules that read it. */
function copyAssets(folder) {
  for (const path of readdirSync(join(folder, "src"), { recursive: true })) {
    if (basename(path) !== "assets") continue;
    cpSync(join(folder, "src", path), join(folder, "dist", path), { recursive: true });
  }
}

/** Bundles the fast path of `cellar exec` into one file: loading many takes longer than a cell. */
async function bundleFastExec(build, file) {
  await build({
    ...OPTIONS,
    entryPoints: [file],
    outfile: file,
    allowOverwrite: true,
    external: ELSEWHERE,
  });
}

/** Bundles the used parts of some packages into `dist/vendor`, and makes the compiled files import them from there. */
async function vendor(build, folder) {
  const dist = join(folder, "dist");
  const outdir = join(dist, "vendor");
  const { metafile } = await build({
    ...OPTIONS,
    absWorkingDir: folder,
    entryPoints: VENDORED.map((name) => ({ in: name, out: name })),
    outdir,
    splitting: true,
    // A CommonJS module has no named exports in the bundle.
    mainFields: ["module", "main"],
    external: ["zod", "@opentelemetry/api"],
    charset: "utf8",
    legalComments: "none",
    metafile: true,
    // Some of it is CommonJS and requires Node's built-in modules.
    banner: {
      js: 'import{createRequire as cellarRequire}from"node:module";const require=cellarRequire(import.meta.url);',
    },
  });
  writeFileSync(
    join(outdir, LICENCES),
    licencesOf(folder, [...Object.keys(metafile.inputs), ...CONTRACT_INPUTS]),
  );
  for (const path of readdirSync(dist, { recursive: true })) {
    if (!path.endsWith(".js") || path.startsWith(`vendor${sep}`)) continue;
    const file = join(dist, path);
    const code = readFileSync(file, "utf8");
    const changed = withVendored(code, relative(dirname(file), outdir).replaceAll(sep, "/"));
    if (changed !== code) writeFileSync(file, changed);
  }
}

function withVendored(code, vendored) {
  return code.replace(/(\bfrom |\bimport\()"([^".][^"]*)"/g, (whole, before, name) =>
    VENDORED.includes(name) ? `${before}"${vendored}/${name}.js"` : whole,
  );
}

function licencesOf(folder, inputs) {
  const packages = new Set(
    inputs.flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []),
  );
  const texts = [...packages].sort().map((path) => {
    const place = join(folder, path);
    const { name, version, license } = JSON.parse(
      readFileSync(join(place, "package.json"), "utf8"),
    );
    const file = readdirSync(place).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no licence file to ship with its code`);
    const text = readFileSync(join(place, file), "utf8").trim();
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle();
