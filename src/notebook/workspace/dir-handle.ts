import {
  type BigIntStats,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fstatSync,
  fsync,
  lstatSync,
  mkdirSync,
  opendirSync,
  openSync,
  realpathSync,
  utimesSync,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { promisify } from "node:util";
import { type RawName, shownPath, systemPath } from "../../backends/files/file-path.js";
import { CellarError } from "../../errors.js";

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const { O_RDONLY, O_NOFOLLOW, O_DIRECTORY, O_NONBLOCK } = constants;
/** Opens without permissions; Node has no name for it. */
const O_PATH = 0o10000000;
const ENTRIES_AT_ONCE = 256;

/**
 * One folder, held open. A name is looked up in this very folder, whatever has become of the path
 * that led here, and a link is never followed. Elsewhere than on Linux the path is checked before
 * each use instead, which leaves a gap that a quick attacker can hit.
 */
export class DirHandle implements Disposable {
  readonly #descriptor: number | undefined;
  readonly #place: RawName;

  private constructor(descriptor: number | undefined, place: RawName) {
    this.#descriptor = descriptor;
    this.#place = place;
  }

  static open(path: string, byDescriptor = process.platform === "linux"): DirHandle {
    const raw = Buffer.from(path).toString("latin1");
    return byDescriptor ? DirHandle.#hold(raw) : DirHandle.#check(raw);
  }

  static #hold(raw: RawName): DirHandle {
    const descriptor = openSync(systemPath(raw), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    return new DirHandle(descriptor, `/proc/self/fd/${descriptor}`);
  }

  static #check(raw: RawName): DirHandle {
    if (!lstatSync(systemPath(raw)).isDirectory()) throw notAFolder(raw, "ENOTDIR");
    return new DirHandle(undefined, realpathSync.native(systemPath(raw), "latin1"));
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }

  /** For calls that do not follow a link at the end, while this is open. */
  at(name: RawName): string | Buffer {
    return systemPath(this.#inside(name));
  }

  #inside(name: RawName): RawName {
    if (this.#descriptor === undefined) {
      const real = realpathSync.native(systemPath(this.#place), "latin1");
      if (real !== this.#place) throw notAFolder(this.#place, "ELOOP");
    }
    return `${this.#place}/${name}`;
  }

  stat(name: RawName): BigIntStats | undefined {
    return lstatSync(this.at(name), { bigint: true, throwIfNoEntry: false });
  }

  *names(): Generator<RawName> {
    const options = { encoding: "latin1", bufferSize: ENTRIES_AT_ONCE } as const;
    const reader = opendirSync(systemPath(this.#place) as string, options);
    try {
      for (let entry = reader.readSync(); entry !== null; entry = reader.readSync()) {
        yield entry.name;
      }
    } finally {
      reader.closeSync();
    }
  }

  /** Fails for anything but a folder, links included. */
  child(name: RawName): DirHandle {
    const inside = this.#inside(name);
    if (this.#descriptor === undefined) return DirHandle.#check(inside);
    try {
      return DirHandle.#hold(inside);
    } catch (error) {
      if (codeOf(error) !== "EACCES") throw error;
      this.#permit(inside, O_DIRECTORY, 0o700);
      return DirHandle.#hold(inside);
    }
  }

  make(name: RawName, owner: Owner | undefined): DirHandle {
    try {
      mkdirSync(this.at(name), { mode: 0o755 });
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      return this.child(name);
    }
    const made = this.child(name);
    made.give(owner);
    return made;
  }

  give(owner: Owner | undefined): void {
    if (owner !== undefined) chownSync(this.at("."), owner.uid, owner.gid);
  }

  setAttributes(mode: number, accessed: number, modified: number): void {
    chmodSync(this.at("."), mode & 0o777);
    utimesSync(this.at("."), accessed, modified);
  }

  /** Opens a regular file for reading; never blocks on pipes or leases. */
  async file(name: RawName): Promise<FileHandle> {
    const flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    const opened = await open(this.at(name), flags).catch((error: unknown) => {
      if (codeOf(error) !== "EACCES" || this.#descriptor === undefined) throw error;
      this.#permit(this.#inside(name), 0, 0o400);
      return open(this.at(name), flags);
    });
    try {
      if ((await opened.stat()).isFile()) return opened;
      throw new CellarError("INVALID_INPUT", `${quoted(name)} is not a file`, {
        remedy: "Name a regular file; files() lists them with their kinds.",
      });
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  async settle(): Promise<void> {
    if (this.#descriptor !== undefined) await promisify(fsync)(this.#descriptor);
  }

  /** A session can remove its own permissions, and so those of a host of the same user. */
  #permit(inside: RawName, flags: number, mode: number): void {
    const descriptor = openSync(systemPath(inside), O_PATH | O_NOFOLLOW | flags);
    try {
      const stats = fstatSync(descriptor);
      if (!stats.isSymbolicLink())
        chmodSync(`/proc/self/fd/${descriptor}`, (stats.mode & 0o777) | mode);
    } finally {
      closeSync(descriptor);
    }
  }
}

/** The folder at the end of the names, and nothing else left open. */
export function descend(
  root: DirHandle,
  names: readonly RawName[],
  step: (folder: DirHandle, name: RawName) => DirHandle = (folder, name) => folder.child(name),
): DirHandle {
  let folder = root.child(".");
  for (const name of names) {
    using before = folder;
    folder = step(before, name);
  }
  return folder;
}

export function quoted(name: RawName): string {
  return JSON.stringify(shownPath(name));
}

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

/** Whether a look-up failed since the name is gone or means something else by now. */
export function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP"].includes(codeOf(error) ?? "");
}

function notAFolder(raw: RawName, code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${quoted(raw)} is not a folder`), { code });
}
