import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";
import type { PyodideConfig } from "pyodide";
import { partOfNode } from "./node-parts.js";

type CreateModule = NonNullable<PyodideConfig["createPyodideModule"]>;

const FILE = "pyodide.asm.mjs";
const EXPORT = /export default (\w+);\s*$/;
const TAIL = 200;

/** Pyodide's large script, loaded so that its compiled code can be cached. */
export class LargeScript {
  readonly create: CreateModule;
  readonly #script: Script;

  constructor(path: string, text: string, code: Uint8Array | undefined) {
    const options = code === undefined ? {} : { cachedData: code };
    this.#script = new Script(text, { filename: path, ...options });
    const open = this.#script.runInThisContext() as (
      url: string,
      load: (name: string) => Promise<unknown>,
    ) => CreateModule;
    this.create = open(pathToFileURL(path).href, partOfNode);
  }

  /** What was compiled until now. */
  code(): Uint8Array {
    return this.#script.createCachedData();
  }
}

/** Reads the script; undefined if its shape is unknown, and then Pyodide loads it. */
export function readScript(
  distribution: string,
  code: Uint8Array | undefined,
): LargeScript | undefined {
  const path = join(distribution, FILE);
  const source = readFileSync(path, "utf8");
  const end = source.slice(-TAIL);
  const found = EXPORT.exec(end);
  if (found === null) return undefined;
  // A script from cached code cannot import.
  const body = source
    .slice(0, source.length - end.length + found.index)
    .replaceAll("import.meta.url", "__url")
    .replaceAll(/\bimport\(/g, "__load(");
  const text = `(__url, __load) => { "use strict"; ${body}\nreturn ${found[1]}; }`;
  return new LargeScript(path, text, code);
}
