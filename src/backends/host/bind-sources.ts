import { statSync } from "node:fs";
import type { Identity, RunFolder } from "./run-folder.js";

/** Makes what only root can reach known to the identity that root becomes. */
export class BindSources {
  /** What the launcher has to bind, and where. */
  readonly binds: [string, string][] = [];
  readonly #folder: RunFolder;
  readonly #identity: Identity | undefined;

  constructor(folder: RunFolder, identity: Identity | undefined) {
    this.#folder = folder;
    this.#identity = identity;
  }

  /** The path under which the sandbox's identity finds it. */
  path(host: string): string {
    if (this.#identity === undefined) return host;
    const place = this.#folder.place(this.binds.length, statSync(host).isDirectory());
    this.binds.push([host, place]);
    return place;
  }
}
