#!/usr/bin/env node
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build as compile } from "./setup/build.mjs";
import { createReport } from "./setup/report.mjs";
import { openState } from "./setup/state.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const program = join(root, "test", "compat", "tool", "main.ts");

/** The comparison, which uses the built package as any other program would. */
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
    entryPoints: [program],
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
  return join(folder, "main.mjs");
}

async function main(args) {
  // The build alone: nothing is fetched here.
  const report = createReport({ quiet: true });
  const state = openState(root);
  await compile({ root, report, state });
  state.save();
  if (report.failed) return 1;
  const caches = join(root, "node_modules", ".cache");
  mkdirSync(caches, { recursive: true });
  const folder = mkdtempSync(join(caches, "compat-"));
  try {
    const options = ["--enable-source-maps", await bundle(folder), "--root", root, ...args];
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
