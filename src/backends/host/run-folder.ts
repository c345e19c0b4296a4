import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { temporaryTrouble } from "../../isolation/temporary-trouble.js";
import { isRunning } from "./process-identity.js";

export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** An unused id: between the ranges of containers and of signed overflow. */
export const SANDBOX_IDENTITY: Identity = { uid: 1_900_000_001, gid: 1_900_000_001 };

type SmallFiles = Readonly<Record<string, string>>;

const ETC: SmallFiles = {
  passwd: "root:x:0:0::/:/bin/sh\nsandbox:x:1000:1000::/workspace:/bin/sh\n",
  group: "root:x:0:\nsandbox:x:1000:\n",
  hosts: "127.0.0.1 localhost cellar\n::1 localhost\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
};

/** What a session that shares the host's network needs to look up names as the host does. */
export function hostNames(): SmallFiles {
  return {
    ...ETC,
    hosts: readOr("/etc/hosts", ETC.hosts ?? ""),
    "resolv.conf": readOr("/etc/resolv.conf", ""),
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  };
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}

/** A private folder of one zygote: its sockets, small files, and places to bind things at. */
export class RunFolder implements Disposable {
  readonly path: string;
  readonly sockets: string;
  readonly #etc: SmallFiles;

  constructor(temporary: string, identity: Identity | undefined, etc: SmallFiles = ETC) {
    this.#etc = etc;
    try {
      sweep(temporary, identity);
      this.path = mkdtempSync(join(temporary, `cellar-${process.pid}-`));
      this.sockets = join(this.path, "sockets");
      mkdirSync(this.sockets, { mode: 0o700 });
      // Sessions with ids of their own connect through an open descriptor of it; the path stays shut.
      if (identity !== undefined) chmodSync(this.sockets, 0o711);
      mkdirSync(join(this.path, "etc"), { mode: 0o755 });
      for (const [name, text] of Object.entries(etc)) writeFileSync(this.etc(name), text);
      if (identity !== undefined) {
        for (const folder of [this.path, this.sockets]) {
          chownSync(folder, identity.uid, identity.gid);
        }
      }
    } catch (error) {
      throw temporaryTrouble("the files of a session", temporary, error);
    }
  }

  get suffix(): string {
    return this.path.slice(this.path.lastIndexOf("-") + 1);
  }

  etc(name: string): string {
    return join(this.path, "etc", name);
  }

  get files(): { host: string; guest: string }[] {
    return Object.keys(this.#etc).map((name) => ({ host: this.etc(name), guest: `/etc/${name}` }));
  }

  /** Keeps scripts for a wall to copy; gives them with their files. */
  keepScripts(scripts: SmallFiles): { host: string; name: string }[] {
    return Object.entries(scripts).map(([name, text]) => {
      const host = join(this.path, `script-${name}`);
      inTemporary(host, () => writeFileSync(host, text));
      return { host, name };
    });
  }

  /** An empty place for the launcher to bind something at. */
  place(index: number, isFolder: boolean): string {
    const path = join(this.path, `bound-${index}`);
    inTemporary(path, () => (isFolder ? mkdirSync(path) : writeFileSync(path, "")));
    return path;
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

function inTemporary(path: string, write: () => unknown): void {
  try {
    write();
  } catch (error) {
    throw temporaryTrouble("the files of a session", path, error);
  }
}

const OUR_FOLDER = /^cellar-(\d+)-\w{6}$/;

/** Removes what a process left that had no time to do so. Folders of other users are not touched. */
export function sweep(temporary: string, identity?: Identity): void {
  const owners = [process.getuid?.(), identity?.uid];
  for (const name of readdirSync(temporary)) {
    const pid = OUR_FOLDER.exec(name)?.[1];
    if (pid === undefined || isRunning(Number(pid))) continue;
    const path = join(temporary, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isDirectory() === true && owners.includes(stats.uid)) removeLeftover(path);
  }
}

function removeLeftover(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // Old dirt must not keep anything new from starting.
  }
}
