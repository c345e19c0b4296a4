import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeSessionDir, sessionDirOwner } from "../../../src/backends/host/session-dir.js";
import { Workspace } from "../../../src/notebook/workspace/workspace.js";

/** A file system in memory, where there is one: for tests that would wait for the disk most of the time. */
export const QUICK_PLACE = existsSync("/dev/shm") ? "/dev/shm" : undefined;

/** Rooms in a folder of their own, and a secret beside them that nobody inside may reach. */
export class WorkspaceFixture implements Disposable {
  readonly folder: string;
  readonly secret: string;
  readonly workspaceMb: number;

  constructor(workspaceMb = 16, place = tmpdir()) {
    this.workspaceMb = workspaceMb;
    this.folder = mkdtempSync(join(place, "cellar-workspace-test-"));
    this.secret = join(this.folder, "secret");
    mkdirSync(this.secret);
  }

  open(name = "one", workspaceMb = this.workspaceMb): Workspace {
    return new Workspace(makeSessionDir({ root: join(this.folder, "rooms"), name }), {
      workspaceMb,
    });
  }

  /** Runs this as whom the session runs as, so far as the host can be somebody else. */
  async asSession<T>(work: () => T | Promise<T>): Promise<T> {
    const owner = sessionDirOwner();
    if (owner === undefined) return work();
    chmodSync(this.folder, 0o711);
    process.setegid?.(owner.gid);
    process.seteuid?.(owner.uid);
    try {
      return await work();
    } finally {
      process.seteuid?.(0);
      process.setegid?.(0);
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}
