import { connect, type Socket } from "node:net";
import { packageVersion } from "../../config/environment.js";
import { CellarError, describeError, ERROR_CODES, isCellarError } from "../../errors.js";
import {
  MAX_DAEMON_FRAME_BYTES,
  MAX_JSON_VALUES,
  PROTOCOL_VERSION,
} from "../../protocol/bounds.js";
import { Channel } from "../../protocol/channel.js";
import { daemonContract } from "../../protocol/daemon-contract.js";
import type { NotificationMethod, Params, RequestMethod, Result } from "../../protocol/messages.js";
import { type DaemonAddress, hasSocket } from "./address.js";
import { livePid } from "./pid-file.js";

/** How long to wait for the answer of a process that listens. */
const ANSWER_MS = 5_000;
/** While a request waits: how often to ask whether the daemon is alive, and how long it may be silent. */
const HEARTBEAT_MS = 10_000;
const SILENCE_MS = 30_000;

/** Receives what a session of the daemon sends to the client that created it. */
export interface SessionListener {
  output(params: Params<"session_output">): void;
  display(params: Params<"session_display">, attachments: readonly Buffer[]): void;
  query(params: Params<"session_query">): Promise<string>;
  queryOver(query: number): void;
  /** The connection is closed, and the session with it. */
  ended(): void;
}

export interface ConnectionOptions {
  /** Takes a daemon of any version, to look at it or to end it. */
  readonly anyVersion?: boolean;
}

/** The one connection of a process to its user's daemon; its sessions share it. */
export class DaemonConnection {
  readonly #address: DaemonAddress;
  readonly #socket: Socket;
  readonly #channel: Channel;
  /** By the ids of their sessions. */
  readonly listeners = new Map<string, SessionListener>();
  #daemon: Result<"daemon_greet"> = { protocol: 0, version: "", pid: 0 };
  #waiting = 0;
  #heartbeat: NodeJS.Timeout | undefined;
  #isChecking = false;

  private constructor(address: DaemonAddress, socket: Socket) {
    this.#address = address;
    this.#socket = socket;
    // Only a waiting request keeps the process alive, not the connection.
    socket.unref();
    this.#channel = new Channel(socket, daemonContract, {
      maxFrameBytes: MAX_DAEMON_FRAME_BYTES,
      // The daemon limits each part of a result; all parts together may exceed the limit of one.
      maxValues: MAX_JSON_VALUES,
    });
    this.#listen();
  }

  static async open(
    address: DaemonAddress,
    options: ConnectionOptions = {},
  ): Promise<DaemonConnection> {
    if (!hasSocket(address)) throw absent(address.path, "the socket does not exist");
    const connection = new DaemonConnection(address, await connectTo(address));
    try {
      await connection.#greet(options);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  get path(): string {
    return this.#address.path;
  }

  get daemon(): Result<"daemon_greet"> {
    return this.#daemon;
  }

  get isOpen(): boolean {
    return this.#channel.isOpen;
  }

  get closed(): Promise<CellarError> {
    return this.#channel.closed;
  }

  async request<M extends RequestMethod>(
    method: M,
    params: Params<M>,
    attachments: readonly Uint8Array[] = [],
  ): Promise<Result<M>> {
    this.#waiting += 1;
    this.#socket.ref();
    this.#heartbeat ??= setInterval(() => this.#checkAlive(), HEARTBEAT_MS);
    try {
      return await this.#channel.request(method, params, attachments);
    } catch (error) {
      throw this.#translate(error);
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#idle();
    }
  }

  #idle(): void {
    this.#socket.unref();
    clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
  }

  /** Ends the connection to a daemon that was stopped or hangs. */
  #checkAlive(): void {
    if (this.#isChecking) return;
    this.#isChecking = true;
    const silent = setTimeout(() => {
      const message = `the daemon did not answer for ${SILENCE_MS / 1000} s`;
      this.#channel.close(new CellarError("SESSION_LOST", message));
    }, SILENCE_MS);
    const over = () => {
      clearTimeout(silent);
      this.#isChecking = false;
    };
    this.#channel.request("daemon_status", { settled: false }).then(over, over);
  }

  notify<M extends NotificationMethod>(method: M, params: Params<M>): void {
    this.#channel.notify(method, params);
  }

  close(): void {
    this.#channel.close();
  }

  #listen(): void {
    this.#channel.on("session_output", (params) => {
      this.listeners.get(params.session)?.output(params);
    });
    this.#channel.on("session_display", (params, attachments) => {
      this.listeners.get(params.session)?.display(params, attachments);
    });
    this.#channel.on("session_query_over", ({ session, query }) => {
      this.listeners.get(session)?.queryOver(query);
    });
    this.#channel.serve("session_query", async (params) => {
      const listener = this.listeners.get(params.session);
      if (listener === undefined) throw new CellarError("SESSION_CLOSED", "the session is closed");
      return { output: await listener.query(params) };
    });
    this.#channel.closed.then(() => {
      for (const listener of this.listeners.values()) listener.ended();
      this.listeners.clear();
    });
  }

  async #greet({ anyVersion = false }: ConnectionOptions): Promise<void> {
    const own = { protocol: PROTOCOL_VERSION, version: packageVersion() };
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.close();
    }, ANSWER_MS);
    try {
      this.#daemon = await this.request("daemon_greet", own);
    } catch (error) {
      const why = isLate ? `no answer within ${ANSWER_MS} ms` : describeError(error);
      const message = `the process at ${this.path} does not answer as a daemon: ${why}`;
      throw unresponsive(this.#address, message, { isLate, error });
    } finally {
      clearTimeout(timer);
    }
    const { protocol, version, pid } = this.#daemon;
    if (anyVersion || (protocol === own.protocol && version === own.version)) return;
    throw new CellarError(
      "DAEMON_UNAVAILABLE",
      `the daemon (pid ${pid}) is version ${version} with protocol ${protocol}, ` +
        `but this client is version ${own.version} with protocol ${own.protocol}`,
      {
        remedy: "Run cellar daemon stop; the next daemon starts with this version.",
        details: { cause: "mismatch", daemon: this.#daemon, own },
      },
    );
  }

  #translate(error: unknown): CellarError {
    if (isCellarError(error, "REMOTE_ERROR")) return fromRemote(error);
    if (isCellarError(error, "SESSION_LOST") || isCellarError(error, "PROTOCOL_ERROR")) {
      return new CellarError(
        "SESSION_LOST",
        `the connection to the daemon was lost: ${error.message}`,
        {
          remedy:
            "Call again: if a daemon is available, the sandbox continues in a new, empty session. " +
            "See cellar daemon status.",
          details: { reason: "daemon" },
          cause: error,
        },
      );
    }
    return error instanceof CellarError
      ? error
      : new CellarError("PROTOCOL_ERROR", describeError(error), { cause: error });
  }
}

/** The other side's error as it was thrown there. */
export function fromRemote(error: CellarError): CellarError {
  const { data } = error.details;
  if (typeof data !== "object" || data === null || !("code" in data)) return error;
  const code = ERROR_CODES.find((known) => known === data.code);
  if (code === undefined) return error;
  const remedy = "remedy" in data && typeof data.remedy === "string" ? data.remedy : undefined;
  const details =
    "details" in data && typeof data.details === "object" ? { ...data.details } : undefined;
  return new CellarError(code, error.message, { remedy, details, cause: error });
}

function connectTo(address: DaemonAddress): Promise<Socket> {
  const { path } = address;
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    const timer = setTimeout(
      () => fail(Object.assign(new Error("it does not accept connections"), { code: "ETIMEDOUT" })),
      ANSWER_MS,
    );
    const fail = (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      socket.destroy();
      const isAbsent = error.code === "ECONNREFUSED" || error.code === "ENOENT";
      reject(
        isAbsent
          ? absent(path, "nothing listens there")
          : unresponsive(address, `cannot connect to ${path}: ${error.message}`, {
              isLate: error.code === "ETIMEDOUT",
              error,
            }),
      );
    };
    socket.once("error", fail);
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.off("error", fail);
      resolve(socket);
    });
  });
}

function unresponsive(
  address: DaemonAddress,
  message: string,
  { isLate, error }: { readonly isLate: boolean; readonly error: unknown },
): CellarError {
  const pid = livePid(address);
  return new CellarError("DAEMON_UNAVAILABLE", message, {
    remedy:
      pid === undefined
        ? "Try again; if that does not help, find the process that listens there and end it."
        : `Try again; if that does not help, end the process ${pid}: kill -KILL ${pid}`,
    details: { cause: isLate ? "silent" : "unreachable", ...(pid !== undefined && { pid }) },
    cause: error,
  });
}

function absent(path: string, why: string): CellarError {
  return new CellarError("DAEMON_UNAVAILABLE", `no daemon is running at ${path}: ${why}`, {
    remedy: "Run cellar daemon start.",
    details: { cause: "absent" },
  });
}
