import fs, { closeSync, openSync, readSync } from "node:fs";
import path from "node:path";
import url from "node:url";

const RANDOM = "/dev/urandom";

/** Node modules that Pyodide's script may import: none that start programs or open sockets. */
const IMPORTED: ReadonlySet<string> = new Set([
  "node:fs",
  "node:fs/promises",
  "node:path",
  "node:url",
  "node:vm",
]);

/** What Pyodide's script imports of Node. */
export async function partOfNode(name: string): Promise<unknown> {
  if (name === "node:module") return { createRequire: await requiring() };
  if (!IMPORTED.has(name)) throw absent(name);
  return import(name);
}

/** It requires parts too: small ones in their place, for all of Node's take long to load. */
async function requiring(): Promise<() => (name: string) => unknown> {
  const hasDevice = process.platform !== "win32";
  const crypto = hasDevice ? { randomFillSync: fillFromKernel } : await import("node:crypto");
  const parts = new Map<string, unknown>([
    ["fs", fs],
    ["path", path],
    ["url", url],
    ["crypto", crypto],
    ["tty", { isatty: () => false }],
  ]);
  return () => (name) => {
    const part = parts.get(name.replace(/^node:/, ""));
    if (part === undefined) throw absent(name);
    return part;
  };
}

function absent(name: string): Error {
  return new Error(`${name} is not available in the sandbox`);
}

function fillFromKernel(view: Uint8Array): Uint8Array {
  const source = openSync(RANDOM, "r");
  try {
    for (let have = 0; have < view.length; ) {
      const got = readSync(source, view, have, view.length - have, null);
      if (got === 0) throw new Error(`${RANDOM} returned no data`);
      have += got;
    }
    return view;
  } finally {
    closeSync(source);
  }
}
