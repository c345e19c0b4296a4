import { randomBytes } from "node:crypto";
import { renameSync, rmdirSync, unlinkSync } from "node:fs";
import { MAX_DEPTH, type RawName } from "../../backends/files/file-path.js";
import { CellarError } from "../../errors.js";
import { codeOf, type DirHandle, isMissing, quoted } from "./dir-handle.js";
import { Yielding } from "./yielding.js";

/** Retries while a session keeps filling what is being emptied. */
const MAX_RETRIES = 100;
/** How often a tree is cut that is too deep. */
const MAX_RAISED = 10_000;
/** Names of one folder that are looked at before it is tried again. */
const MAX_NAMES = 200_000;

/** Removes trees of any depth without following links, even while a session writes to them. */
export class Removal {
  readonly #top: DirHandle;
  readonly #pace = new Yielding();
  readonly #raised: RawName[] = [];
  #retries = 0;
  #cuts = 0;

  /** `top` takes what is too deep to reach. */
  constructor(top: DirHandle) {
    this.#top = top;
  }

  async remove(folder: DirHandle, name: RawName): Promise<void> {
    await this.#remove(folder, name, 1);
    await this.#finish();
  }

  async clear(): Promise<void> {
    await this.#empty(this.#top, 0);
    await this.#finish();
  }

  async #finish(): Promise<void> {
    for (let raised = this.#raised.pop(); raised !== undefined; raised = this.#raised.pop()) {
      await this.#remove(this.#top, raised, 1);
    }
  }

  async #remove(parent: DirHandle, name: RawName, depth: number): Promise<void> {
    if (this.#pace.isDue) await this.#pace.rest();
    for (;;) {
      try {
        if (parent.stat(name)?.isDirectory() !== true) return unlinkSync(parent.at(name));
        using folder = parent.child(name);
        await this.#empty(folder, depth);
        return rmdirSync(parent.at(name));
      } catch (error) {
        if (codeOf(error) === "ENOENT") return;
        if (!isUnsteady(error)) throw error;
      }
      this.#retries += 1;
      if (this.#retries > MAX_RETRIES) throw tooBusy(name);
    }
  }

  async #empty(folder: DirHandle, depth: number): Promise<void> {
    let seen = 0;
    for (const inner of folder.names()) {
      seen += 1;
      if (seen > MAX_NAMES) return;
      if (depth < MAX_DEPTH) await this.#remove(folder, inner, depth + 1);
      else this.#raise(folder, inner);
    }
  }

  #raise(folder: DirHandle, name: RawName): void {
    if (folder.stat(name)?.isDirectory() !== true) {
      unlinkSync(folder.at(name));
      return;
    }
    const raised = `.removed-${randomBytes(8).toString("hex")}`;
    using _writable = folder.child(name);
    this.#cuts += 1;
    if (this.#cuts > MAX_RAISED) throw tooBusy(name);
    renameSync(folder.at(name), this.#top.at(raised));
    this.#raised.push(raised);
  }
}

function isUnsteady(error: unknown): boolean {
  return isMissing(error) || ["ENOTEMPTY", "EEXIST", "EISDIR"].includes(codeOf(error) ?? "");
}

function tooBusy(name: RawName): CellarError {
  return new CellarError("CONFLICT", `${quoted(name)} is filled faster than it is emptied`, {
    remedy: "Stop what writes there, then remove it again.",
  });
}
