import { createServer as createHttpServer, type RequestListener } from "node:http";
import {
  type AddressInfo,
  connect,
  createServer as createNetServer,
  type Server,
  type Socket,
} from "node:net";

/** Servers on loopback, and connections that lead to them from any address. */
export class WebServers implements AsyncDisposable {
  /** Where connections would have gone. */
  readonly dialed: string[] = [];
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  /** The port of a server that speaks HTTP. */
  async http(listener: RequestListener): Promise<number> {
    return await this.#listen(createHttpServer(listener));
  }

  /** The port of a server that writes whatever it wants. */
  async raw(onConnection: (socket: Socket) => void): Promise<number> {
    return await this.#listen(createNetServer(onConnection));
  }

  /** The port of a server that answers every request with these bytes. */
  async answering(...pieces: readonly (string | Buffer)[]): Promise<number> {
    return await this.raw((socket) => {
      socket.once("data", () => {
        for (const piece of pieces) socket.write(piece);
        socket.end();
      });
    });
  }

  /** A connector to one of these servers, whatever the address. */
  dialing(port: number): (address: string, wanted: number) => Socket {
    return (address, wanted) => {
      this.dialed.push(`${address}:${wanted}`);
      return connect({ host: "127.0.0.1", port, allowHalfOpen: true });
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) server.close();
  }

  async #listen(server: Server): Promise<number> {
    this.#servers.push(server);
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port;
  }
}
