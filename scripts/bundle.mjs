#!/usr/bin/env node
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Loaded on demand, and never by what is bundled. */
const ELSEWHERE = ["./launch.js", "./spool.js"];

/** Puts the quick way of `cellar exec` into one file: loading many takes longer than a cell. */
export async function bundle(folder = root) {
  const { build } = await import("esbuild");
  const file = join(folder, "dist", "cli", "quick.js");
  await build({
    entryPoints: [file],
    outfile: file,
    allowOverwrite: true,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    minify: true,
    external: ELSEWHERE,
    logLevel: "warning",
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle();
