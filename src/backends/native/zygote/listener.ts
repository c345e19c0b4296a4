import { chmodSync, chownSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { CellarError, describeError } from "../../../errors.js";
import { PROTOCOL_VERSION } from "../../../protocol/messages.js";
import { Peer } from "../../../protocol/peer.js";
import type { Identity } from "../../host/run-folder.js";
import type { Hello } from "../../session/session.js";

type Arrival = (hello: Hello, peer: Peer) => void;

/** A link that says nothing is not kept. */
const HELLO_TIMEOUT_MS = 10_000;

/** What the kernel takes; a longer path would be cut without a word. */
const MAX_PATH_BYTES = 107;

/** Where sessions connect to. The folder is private; a session must also know its token. */
export class Listener implements AsyncDisposable {
  readonly #server: Server;
  readonly #expected = new Map<string, { token: string; arrive: Arrival }>();

  private constructor(server: Server) {
    this.#server = server;
    server.unref();
  }

  static async open(folder: string, identity: Identity | undefined): Promise<Listener> {
    const path = join(folder, "host.sock");
    const server = createServer();
    const listener = new Listener(server);
    server.on("connection", (socket) => listener.#accept(socket));
    if (Buffer.byteLength(path) > MAX_PATH_BYTES)
      throw noSocket(`the path ${path} is longer than ${MAX_PATH_BYTES} bytes`);
    await new Promise<void>((resolve, reject) => {
      // It stays: a connection that cannot be accepted later on fails for itself alone.
      server.on("error", reject);
      server.listen({ path, backlog: 511 }, resolve);
    }).catch((error: unknown) => {
      throw noSocket(describeError(error), error);
    });
    // As root, sessions have ids of their own, and the folder around its folder is private.
    chmodSync(path, identity === undefined ? 0o600 : 0o666);
    if (identity !== undefined) chownSync(path, identity.uid, identity.gid);
    return listener;
  }

  expect(session: string, token: string, arrive: Arrival): void {
    this.#expected.set(session, { token, arrive });
  }

  forget(session: string): void {
    this.#expected.delete(session);
  }

  #accept(socket: Socket): void {
    socket.unref();
    const peer = new Peer(socket);
    const timer = setTimeout(() => peer.close(), HELLO_TIMEOUT_MS);
    timer.unref();
    peer.closed.then(() => clearTimeout(timer));
    peer.on("hello", (hello) => {
      clearTimeout(timer);
      const expected = this.#expected.get(hello.session);
      if (expected === undefined || expected.token !== hello.token) peer.close();
      else if (hello.protocol !== PROTOCOL_VERSION) peer.close();
      else {
        peer.on("hello", () => peer.close());
        expected.arrive(hello, peer);
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

function noSocket(why: string, cause?: unknown): CellarError {
  return new CellarError("IO_ERROR", `could not create a socket: ${why}`, {
    remedy: "Set TMPDIR to a writable folder with a short path.",
    cause,
  });
}
