import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  makeSessionDir,
  STATE_FILE,
  sessionDirOwner,
  sessionDirPath,
} from "../dist/backends/host/session-dir.js";

/** Session directories in a temporary folder. */
export class SessionDirs {
  #root = mkdtempSync(join(tmpdir(), "cellar-bench-"));

  constructor() {
    chmodSync(this.#root, 0o711);
  }

  path(name) {
    return join(this.#root, name);
  }

  /** A session directory, with a copy of `state` if given. */
  make(state) {
    const name = `session-${randomBytes(6).toString("hex")}`;
    const sessionDir = { root: this.#root, name, hasEgress: false };
    makeSessionDir(sessionDir);
    if (state !== undefined) {
      const file = join(sessionDirPath(sessionDir), STATE_FILE);
      copyFileSync(state, file);
      const owner = sessionDirOwner();
      if (owner !== undefined) chownSync(file, owner.uid, owner.gid);
    }
    return sessionDir;
  }

  remove(sessionDir) {
    rmSync(sessionDirPath(sessionDir), { recursive: true, force: true });
  }

  [Symbol.dispose]() {
    rmSync(this.#root, { recursive: true, force: true });
  }
}
