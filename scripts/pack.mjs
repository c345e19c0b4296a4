#!/usr/bin/env node
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Fields for a checkout, which name files that are not in the package. */
const OF_A_CHECKOUT = ["scripts", "devDependencies", "overrides", "allowScripts"];

/** Packs the build, and returns the path of the archive. */
export function pack({ folder = root, destination }) {
  const [{ files }] = npmPack(folder, ["--dry-run"]);
  const paths = files.map(({ path }) => path);
  if (!paths.includes("dist/vendor/LICENSES.txt")) {
    throw new Error("dist is incomplete: run npm run build");
  }
  const stage = mkdtempSync(join(tmpdir(), "cellar-pack-"));
  try {
    for (const path of paths) {
      mkdirSync(dirname(join(stage, path)), { recursive: true });
      copyFileSync(join(folder, path), join(stage, path));
    }
    writeFileSync(join(stage, "package.json"), manifestOf(folder));
    const [{ filename }] = npmPack(stage, ["--pack-destination", resolve(destination)]);
    return join(resolve(destination), filename);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function manifestOf(folder) {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  for (const field of OF_A_CHECKOUT) delete manifest[field];
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

function npmPack(folder, flags) {
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const args = ["pack", "--json", "--ignore-scripts", "--loglevel=error", ...flags];
  return JSON.parse(execFileSync(npm, args, { cwd: folder, encoding: "utf8", timeout: 120_000 }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(pack({ destination: process.argv[2] ?? root }));
}
