import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { EgressProxy } from "../../egress/proxy.js";
import {
  makeSessionFolder,
  type SessionDir,
  sessionDirOwner,
  sessionDirPath,
} from "../host/session-dir.js";
import { temporaryRoot } from "../host/temporary-root.js";

/** The way out of one sandbox and its forks: a proxy, and the folder with its socket. */
export class SandboxEgress {
  readonly dir: SessionDir;
  readonly proxy: EgressProxy;
  readonly #ownsDir: boolean;
  #holders = 1;

  private constructor(dir: SessionDir, proxy: EgressProxy, ownsDir: boolean) {
    this.dir = dir;
    this.proxy = proxy;
    this.#ownsDir = ownsDir;
  }

  /** In the folder of the session, or in one that holds nothing but the socket. */
  static async open(
    allow: readonly string[],
    given: SessionDir | undefined,
  ): Promise<SandboxEgress> {
    const dir: SessionDir = { ...(given ?? newDir()), hasEgress: true };
    makeSessionFolder(dir);
    try {
      const folder = sessionDirPath(dir);
      const proxy = await EgressProxy.open({ folder, owner: sessionDirOwner(), allow });
      return new SandboxEgress(dir, proxy, given === undefined);
    } catch (error) {
      if (given === undefined) removeDir(dir);
      throw error;
    }
  }

  /** For a fork, whose processes use the same socket. */
  share(): this {
    this.#holders += 1;
    return this;
  }

  async release(): Promise<void> {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    await this.proxy[Symbol.asyncDispose]();
    if (this.#ownsDir) removeDir(this.dir);
  }
}

function newDir(): SessionDir {
  const name = `egress-${randomBytes(12).toString("hex")}`;
  return { root: temporaryRoot(), name, hasEgress: true, isReplaceable: true };
}

/** No session ever writes there. */
function removeDir(dir: SessionDir): void {
  rmSync(sessionDirPath(dir), { recursive: true, force: true });
}
