import fs, { closeSync, existsSync, openSync, readSync } from "node:fs";
import path from "node:path";
import url from "node:url";

const RANDOM = "/dev/urandom";

/** What Pyodide's script imports of Node; what it requires is what it needs, and nothing that leads out. */
export async function partOfNode(name: string): Promise<unknown> {
  if (name !== "node:module") return import(name);
  // All of Node's takes longer to load than Python to start with it.
  const crypto = existsSync(RANDOM)
    ? { randomFillSync: fillFromKernel }
    : await import("node:crypto");
  const parts: Readonly<Record<string, unknown>> = {
    fs,
    path,
    url,
    crypto,
    tty: { isatty: () => false },
  };
  const require = (wanted: string) => {
    const part = parts[wanted.replace(/^node:/, "")];
    if (part === undefined) throw new Error(`there is no ${wanted} in the sandbox`);
    return part;
  };
  return { createRequire: () => require };
}

function fillFromKernel(view: Uint8Array): Uint8Array {
  const source = openSync(RANDOM, "r");
  try {
    for (let have = 0; have < view.length; ) {
      have += readSync(source, view, have, view.length - have, null);
    }
    return view;
  } finally {
    closeSync(source);
  }
}
