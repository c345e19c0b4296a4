import { lookup } from "node:dns/promises";
import { connect, isIP, type Socket } from "node:net";
import { describeError } from "../errors.js";
import { isLocalName } from "./allow-list.js";
import type { Authority } from "./authority.js";
import { Denial } from "./denial.js";
import type { NetworkPolicy } from "./network-policy.js";

export type Resolver = (host: string) => Promise<readonly string[]>;

export type Connector = (address: string, port: number) => Socket;

const LOOKUP_MS = 10_000;
const CONNECT_MS = 15_000;
const MOST_ADDRESSES = 8;

/** Resolves a name once and connects to a checked address, never to the name. */
export class Dialer {
  readonly #policy: NetworkPolicy;
  readonly #resolve: Resolver;
  readonly #connect: Connector;

  constructor(policy: NetworkPolicy, resolve: Resolver = resolveName, dial: Connector = connectTo) {
    this.#policy = policy;
    this.#resolve = resolve;
    this.#connect = dial;
  }

  async addresses(target: Authority): Promise<readonly string[]> {
    const found = (await this.#find(target.host)).slice(0, MOST_ADDRESSES);
    if (found.length === 0) throw new Denial(502, `${target.host} has no address`);
    const refusals = found.map((address) => this.#policy.addressRefusalOf(target, address));
    const usable = found.filter((_, index) => refusals[index] === undefined);
    if (usable.length === 0) throw new Denial(403, refusals[0] ?? "");
    return usable;
  }

  /** `onSocket` gets each socket before it connects, so that it can be ended at any time. */
  async open(
    addresses: readonly string[],
    port: number,
    signal: AbortSignal,
    onSocket: (socket: Socket) => void,
  ): Promise<Socket> {
    let failure: unknown;
    for (const address of addresses) {
      signal.throwIfAborted();
      try {
        const socket = this.#connect(address, port);
        onSocket(socket);
        return await connected(socket);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  async #find(host: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) return [host];
    if (isLocalName(host)) return ["127.0.0.1", "::1"];
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("the lookup took too long")), LOOKUP_MS);
      timer.unref();
    });
    try {
      return await Promise.race([this.#resolve(host), late]);
    } catch (error) {
      throw new Denial(502, `${host} could not be looked up: ${describeError(error)}`);
    } finally {
      clearTimeout(timer);
    }
  }
}

async function resolveName(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}

function connectTo(address: string, port: number): Socket {
  return connect({ host: address, port, allowHalfOpen: true });
}

async function connected(socket: Socket): Promise<Socket> {
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("connecting took too long")), CONNECT_MS);
      timer.unref();
      socket.once("connect", resolve);
      socket.once("error", reject);
      socket.once("close", () => {
        clearTimeout(timer);
        reject(new Error("the connection was closed"));
      });
      socket.once("connect", () => clearTimeout(timer));
    });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
