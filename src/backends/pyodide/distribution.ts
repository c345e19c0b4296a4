import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

export interface Distribution {
  readonly version: string;
  /** The folder of pyodide.mjs and its parts. */
  readonly folder: string;
}

/** The Pyodide that was installed with this package. */
export function packagedDistribution(): Distribution {
  const folder = dirname(createRequire(import.meta.url).resolve("pyodide/package.json"));
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    version: string;
  };
  return { version, folder };
}
