#!/usr/bin/env node
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Bundled: each package is ten times as large as the part that is used, or is many small files. */
export const VENDORED = [
  "commander",
  "zod",
  "gpt-tokenizer/encoding/o200k_base",
  "@modelcontextprotocol/client",
  "@modelcontextprotocol/client/stdio",
  "@modelcontextprotocol/server",
  "@modelcontextprotocol/server/stdio",
  "@opentelemetry/exporter-trace-otlp-http",
  "@opentelemetry/resources",
  "@opentelemetry/sdk-trace-base",
  "htmlparser2",
  "yaml",
];

/** Packages that give Node a CommonJS module, which has no named exports in a bundle. */
const MODULES = { yaml: "./node_modules/yaml/browser/index.js" };

/** The parts of packages in dist/protocol/daemon-contract.js. */
const CONTRACT_INPUTS = ["node_modules/ajv/dist/runtime/ucs2length.js"];

/** Not where it is quoted, as in code that is rewritten at run time. */
const OWN_ADDRESS = /(?<!")\bimport\.meta\.url\b(?!")/;

const LICENCES = "LICENSES.txt";

/** What main.js starts, and the folder of their bundles beside it. */
const PROGRAMS = ["fast-exec.js", "program.js"];
const BUNDLES = "bundles";
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
  await vendor(build, folder);
  await bundleCommandLine(build, folder);
  copyAssets(folder);
}

/** Copies each `assets` folder beside the compiled modules that read it. */
function copyAssets(folder) {
  for (const path of readdirSync(join(folder, "src"), { recursive: true })) {
    if (basename(path) !== "assets") continue;
    cpSync(join(folder, "src", path), join(folder, "dist", path), { recursive: true });
  }
}

/**
 * Bundles the command line into few files: loading many takes longer than a cell. Its programs are
 * bundled apart, since what two share would be in files of its own.
 */
async function bundleCommandLine(build, folder) {
  const cli = join(folder, "dist", "cli");
  const outdir = join(cli, BUNDLES);
  rmSync(outdir, { recursive: true, force: true });
  for (const program of PROGRAMS) {
    await build({
      ...OPTIONS,
      // Traces of errors keep the names of functions.
      minify: false,
      minifyWhitespace: true,
      minifySyntax: true,
      entryPoints: [join(cli, program)],
      outdir,
      splitting: true,
      packages: "external",
      plugins: [vendorStays(folder), placesStay(folder, outdir)],
    });
  }
  const main = join(cli, "main.js");
  writeFileSync(
    main,
    PROGRAMS.reduce(
      (code, program) => code.replace(`"./${program}"`, `"./${BUNDLES}/${program}"`),
      readFileSync(main, "utf8"),
    ),
  );
  for (const path of readdirSync(cli, { recursive: true })) {
    const isOwn = path === "main.js" || [BUNDLES, "assets"].some((name) => path.includes(name));
    if (path.endsWith(".js") && !isOwn) rmSync(join(cli, path));
  }
}

/** What is in `dist/vendor` is shared with the library, so it is not bundled again. */
function vendorStays(folder) {
  const vendored = join(folder, "dist", "vendor");
  return {
    name: "vendor-stays",
    setup({ onResolve }) {
      onResolve({ filter: /^\.\.?\/.*vendor\// }, ({ path, resolveDir }) => {
        const file = join(resolveDir, path);
        if (!file.startsWith(vendored)) return undefined;
        return { path: `../../vendor${file.slice(vendored.length)}`, external: true };
      });
    },
  };
}

/** Gives each module its own address, although its code is in a chunk. */
function placesStay(folder, outdir) {
  return {
    name: "places-stay",
    setup({ onLoad }) {
      onLoad({ filter: /\/dist\/.*\.js$/ }, ({ path }) => {
        const code = readFileSync(path, "utf8");
        if (!path.startsWith(join(folder, "dist")) || !OWN_ADDRESS.test(code)) return undefined;
        const place = relative(outdir, path).replaceAll(sep, "/");
        const address = `new URL(${JSON.stringify(place)}, import.meta.url).href`;
        return { contents: code.replaceAll(new RegExp(OWN_ADDRESS, "g"), address) };
      });
    },
  };
}

/** Bundles the used parts of some packages into `dist/vendor`, and makes the compiled files import them from there. */
async function vendor(build, folder) {
  const dist = join(folder, "dist");
  const outdir = join(dist, "vendor");
  const { metafile } = await build({
    ...OPTIONS,
    absWorkingDir: folder,
    entryPoints: VENDORED.map((name) => ({ in: MODULES[name] ?? name, out: name })),
    outdir,
    splitting: true,
    // A CommonJS module has no named exports in the bundle.
    mainFields: ["module", "main"],
    external: ["@opentelemetry/api"],
    plugins: [englishOnly],
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
    const changed = withVendored(code, `./${relative(dirname(file), outdir).replaceAll(sep, "/")}`);
    if (changed !== code) writeFileSync(file, changed);
  }
}

/** Zod's messages in other languages are more code than the rest of it. */
const englishOnly = {
  name: "english-only",
  setup({ onLoad }) {
    onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
  },
};

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
