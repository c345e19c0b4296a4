import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DiskStore } from "../../../src/notebook/store/disk-store.js";
import type { NotebookId } from "../../../src/notebook/store/store.js";

export const ID: NotebookId = { user: "ann", session: "one" };

/** A folder for a test, and what its notebook has in it. */
export class StoreFixture implements AsyncDisposable {
  readonly dir: string;
  readonly folder: string;
  #mounted: string | undefined;

  private constructor(dir: string) {
    this.dir = dir;
    this.folder = new DiskStore(dir).heads.folderOf(ID);
  }

  static async open(): Promise<StoreFixture> {
    return new StoreFixture(await mkdtemp(join(tmpdir(), "cellar-store-")));
  }

  /** A small disk in memory below the folder; a text where this may not be done. */
  async mount(): Promise<{ dir: string } | string> {
    const dir = join(this.dir, "small");
    await mkdir(dir);
    try {
      const args = ["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", dir];
      execFileSync("mount", args, { stdio: "ignore" });
    } catch {
      return "a small disk cannot be mounted here";
    }
    this.#mounted = dir;
    return { dir };
  }

  /** As another process would open it. */
  reopen(): DiskStore {
    return new DiskStore(this.dir);
  }

  async fill(count: number): Promise<void> {
    const { heads } = this.reopen();
    for (let rev = 0; rev < count; rev += 1) await heads.cas(ID, { n: rev + 1 }, rev);
  }

  head(rev: number): string {
    return join(this.folder, `head-${String(rev).padStart(12, "0")}.json`);
  }

  async names(prefix: string): Promise<string[]> {
    return (await readdir(this.folder)).filter((name) => name.startsWith(prefix)).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Files that are just being closed do not keep it.
    if (this.#mounted !== undefined) execFileSync("umount", ["-l", this.#mounted]);
    await rm(this.dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** Takes all the space that is left. */
export async function fillDisk(dir: string): Promise<string> {
  const path = join(dir, "filler");
  await writeFile(path, Buffer.alloc(2 * 1024 * 1024)).catch(() => {});
  await chmod(path, 0o600);
  return path;
}
