import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sessionDirOwner } from "../../src/backends/host/session-dir.js";
import { type EgressOptions, EgressProxy } from "../../src/egress/proxy.js";

/** A room, servers on loopback and proxies, all gone at the end. */
export class EgressHosts implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "cellar-egress-"));
  readonly #held: AsyncDisposable[] = [];
  readonly #servers: Server[] = [];

  async proxy(
    allow: readonly string[],
    options: Partial<EgressOptions> = {},
  ): Promise<EgressProxy> {
    const proxy = await EgressProxy.open({
      folder: this.folder,
      owner: sessionDirOwner(),
      ...options,
      allow,
    });
    this.#held.push(proxy);
    return proxy;
  }

  /** The port of a new server on loopback. */
  async server(listener: RequestListener): Promise<number> {
    const server = createServer(listener);
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port;
  }

  connect(): Socket {
    return connect({ path: join(this.folder, "egress.sock"), allowHalfOpen: true });
  }

  /** Everything that the proxy answers to these bytes until it closes the connection. */
  async exchange(text: string): Promise<string> {
    const socket = this.connect();
    socket.write(text);
    return readAll(socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#held.reverse()) await each[Symbol.asyncDispose]();
    for (const server of this.#servers) {
      server.closeAllConnections();
      server.close();
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

export function readAll(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      text += chunk;
    });
    socket.on("error", () => {});
    socket.on("end", () => socket.end());
    socket.on("close", () => resolve(text));
  });
}

/** Resolves when the text has come. */
export function readUntil(socket: Socket, wanted: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const hear = (chunk: Buffer) => {
      text += chunk.toString("utf8");
      if (!text.includes(wanted)) return;
      socket.off("data", hear);
      socket.pause();
      resolve(text);
    };
    socket.on("data", hear);
    socket.on("close", () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
    socket.on("error", () => {});
  });
}
