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
import { EGRESS_SOCKET, sessionDirOwner } from "../../backends/host/session-dir.js";
import { CellarError, describeError } from "../../errors.js";

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

  /** Takes the place of one that an earlier process left. */
  static async listen(server: Server, folder: string): Promise<EgressSocket> {
    let directory: number | undefined;
    try {
      directory = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
      // A socket's address is short; the descriptor stands for a path that may be long.
      const dir = `/proc/self/fd/${directory}`;
      // The server unlinks its own name when it closes, which must not be that of a successor.
      const name = `${dir}/egress-${randomBytes(6).toString("hex")}`;
      await listening(server, name);
      chmodSync(name, 0o600);
      const owner = sessionDirOwner();
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
    // It stays: a connection that cannot be accepted later on fails for itself alone.
    server.on("error", reject);
    server.listen({ path, backlog: 511 }, () => resolve());
  });
}
