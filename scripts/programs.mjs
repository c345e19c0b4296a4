import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Runs TypeScript programs that use the built package like any other program; returns their exit code. */
export async function runPrograms(root, { entryPoints, name }, argumentsIn) {
  const caches = join(root, "node_modules", ".cache");
  mkdirSync(caches, { recursive: true });
  const folder = mkdtempSync(join(caches, `${name}-`));
  try {
    await bundle(root, entryPoints, folder);
    const program = join(folder, "main.mjs");
    const options = ["--enable-source-maps", program, ...argumentsIn(folder)];
    const child = spawn(process.execPath, options, { stdio: "inherit" });
    // A terminal sends its signals to both processes.
    process.on("SIGINT", () => {});
    process.on("SIGTERM", () => child.kill("SIGTERM"));
    return await new Promise((resolve) => child.on("close", (code) => resolve(code ?? 1)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function bundle(root, entryPoints, outdir) {
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
    entryPoints,
    outdir,
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
