import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  renameSync,
  unlinkSync,
} from "node:fs";
import type { Server } from "node:http";
import { CellarError, describeError } from "../errors.js";

const EGRESS_SOCKET = "egress.sock";

export interface SocketOwner {
  readonly uid: number;
  readonly gid: number;
}

/** The socket in a session's folder at which its proxy listens. */
export class EgressSocket implements Disposable {
  readonly #directory: number;
  readonly #place: string;
  readonly #inode: bigint;

  private constructor(directory: number, place: string) {
    this.#directory = directory;
    this.#place = place;
    this.#inode = lstatSync(place, { bigint: true }).ino;
  }

  /** Replaces the socket of an earlier process. */
  static async listen(
    server: Server,
    folder: string,
    owner: SocketOwner | undefined,
  ): Promise<EgressSocket> {
    let directory: number | undefined;
    try {
      directory = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
      // Socket paths are limited in length, so the folder is named by its descriptor.
      const dir = `/proc/self/fd/${directory}`;
      // The server unlinks its name when it closes, which must not be a successor's.
      const name = `${dir}/egress-${randomBytes(6).toString("hex")}`;
      await listening(server, name);
      chmodSync(name, 0o600);
      if (owner !== undefined) chownSync(name, owner.uid, owner.gid);
      const place = `${dir}/${EGRESS_SOCKET}`;
      renameSync(name, place);
      return new EgressSocket(directory, place);
    } catch (error) {
      server.close();
      if (directory !== undefined) closeSync(directory);
      throw new CellarError("IO_ERROR", `no socket could be made in ${folder}`, {
        remedy: "An allow-list needs Linux, and a folder on a file system that can hold sockets.",
        details: { reason: describeError(error) },
        cause: error,
      });
    }
  }

  [Symbol.dispose](): void {
    const found = lstatSync(this.#place, { bigint: true, throwIfNoEntry: false });
    if (found?.ino === this.#inode) unlinkSync(this.#place);
    closeSync(this.#directory);
  }
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // Keeps a later failure to accept one connection from ending the process.
    server.on("error", reject);
    server.listen({ path, backlog: 511 }, () => resolve());
  });
}
