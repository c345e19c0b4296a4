import { randomBytes } from "node:crypto";
import { chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  makeSessionDir,
  type SessionDir,
  STATE_FILE,
  sessionDirOwner,
  sessionDirPath,
} from "../../backends/host/session-dir.js";
import { temporaryRoot } from "../../backends/host/temporary-root.js";
import { temporaryTrouble } from "../../isolation/temporary-trouble.js";
import { DirHandle } from "../workspace/dir-handle.js";
import { Removal } from "../workspace/removal.js";

export { temporaryRoot };

/** The folder of one run, removed afterwards. */
export class TemporarySessionDir implements AsyncDisposable {
  readonly sessionDir: SessionDir;
  /** The path of the session's /workspace. */
  readonly workspace: string;

  constructor(state: Uint8Array | undefined) {
    this.sessionDir = {
      root: temporaryRoot(),
      name: `run-${randomBytes(12).toString("hex")}`,
      hasEgress: false,
    };
    this.workspace = this.make();
    if (state === undefined) return;
    try {
      writeFileSync(this.stateFile, state, { flag: "wx", mode: 0o400 });
    } catch (error) {
      throw temporaryTrouble("the variables", this.stateFile, error);
    }
    const owner = sessionDirOwner();
    if (owner !== undefined) chownSync(this.stateFile, owner.uid, owner.gid);
  }

  /** Creates missing folders; returns the path of the workspace. */
  make(more: readonly string[] = []): string {
    try {
      return makeSessionDir(this.sessionDir, more);
    } catch (error) {
      const { cause = error } = error as Error;
      throw temporaryTrouble("the files of a session", sessionDirPath(this.sessionDir), cause);
    }
  }

  get stateFile(): string {
    return join(sessionDirPath(this.sessionDir), STATE_FILE);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    using root = DirHandle.open(this.sessionDir.root);
    await new Removal(root).remove(root, this.sessionDir.name);
  }
}
