#!/usr/bin/env node
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = join(root, "test", "faults", "campaign");
const PROGRAMS = ["main", "holder-program", "storm-program"];

/** The programs of the campaign, which use the built package as any other program would. */
async function bundle(folder) {
  const { build } = await import("esbuild");
  const built = {
    name: "built",
    setup({ onResolve }) {
      onResolve({ filter: /^(\.\.\/){3}src\// }, ({ path }) => {
        const file = join(root, path.replace(/^(\.\.\/){3}src/, "dist"));
        return { path: file, external: true };
      });
    },
  };
  await build({
    entryPoints: PROGRAMS.map((name) => join(sources, `${name}.ts`)),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    sourcemap: "inline",
    plugins: [built],
    logLevel: "warning",
  });
}

async function main(args) {
  const caches = join(root, "node_modules", ".cache");
  mkdirSync(caches, { recursive: true });
  const folder = mkdtempSync(join(caches, "faults-"));
  try {
    await bundle(folder);
    const places = ["--programs", folder, "--root", root];
    const program = join(folder, "main.mjs");
    const options = ["--enable-source-maps", program, ...places, ...args];
    const child = spawn(process.execPath, options, { stdio: "inherit" });
    // A terminal sends its own to both.
    process.on("SIGINT", () => {});
    process.on("SIGTERM", () => child.kill("SIGTERM"));
    return await new Promise((resolve) => child.on("close", (code) => resolve(code ?? 1)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main(process.argv.slice(2));
