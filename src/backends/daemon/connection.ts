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
import { type DaemonAddress, isInhabited } from "./address.js";
import { livePid } from "./pid-file.js";

/** Somebody who listens but does not answer in this time is taken for absent. */
const ANSWER_MS = 5_000;
/** While somebody waits, so often the daemon is asked whether it is still there; so long it may be silent. */
const HEARTBEAT_MS = 10_000;
const SILENCE_MS = 30_000;

/** What a session of the daemon has to say to the client that made it. */
export interface SessionListener {
  output(params: Params<"session_output">): void;
  display(params: Params<"session_display">, attachments: readonly Buffer[]): void;
  query(params: Params<"session_query">): Promise<string>;
  queryOver(query: number): void;
  /** The link is gone, and the session with it. */
  ended(): void;
}

export interface ConnectionOptions {
  /** Takes a daemon of any version, to look at it or to end it. */
  readonly anyVersion?: boolean;
}

/** Whether an error tells that the connection to the daemon was lost, and not that the daemon refused. */
export function isLinkLoss(error: unknown): error is CellarError {
  return isCellarError(error, "SESSION_LOST") && error.details.reason === "daemon";
}

/** Whether nobody was there, so that a daemon may be started. */
export function isAbsence(error: unknown): boolean {
  return isCellarError(error, "DAEMON_UNAVAILABLE") && error.details.cause === "absent";
}

/** Whether somebody listened, and was waited for in vain. */
export function isSilence(error: unknown): boolean {
  return isCellarError(error, "DAEMON_UNAVAILABLE") && error.details.cause === "silent";
}

/** The one connection of a process to its user's daemon; its sessions share it. */
export class DaemonConnection {
  readonly #address: DaemonAddress;
  readonly #socket: Socket;
  readonly #channel: Channel;
  readonly #listeners = new Map<string, SessionListener>();
  #daemon: Result<"daemon_greet"> = { protocol: 0, version: "", pid: 0 };
  #waiting = 0;
  #heartbeat: NodeJS.Timeout | undefined;
  #isChecking = false;

  private constructor(address: DaemonAddress, socket: Socket) {
    this.#address = address;
    this.#socket = socket;
    // It is the waiting that holds the process, not the link.
    socket.unref();
    this.#channel = new Channel(socket, daemonContract, {
      maxFrameBytes: MAX_DAEMON_FRAME_BYTES,
      // The daemon has bounded each part of a result; together they may be more than one part may be.
      maxValues: MAX_JSON_VALUES,
    });
    this.#listen();
  }

  static async open(
    address: DaemonAddress,
    options: ConnectionOptions = {},
  ): Promise<DaemonConnection> {
    if (!isInhabited(address)) throw absent(address.path, "there is none");
    const link = new DaemonConnection(address, await reach(address));
    try {
      await link.#greet(options);
      return link;
    } catch (error) {
      link.close();
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
      throw this.#explained(error);
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#rest();
    }
  }

  #rest(): void {
    this.#socket.unref();
    clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
  }

  /** A daemon that was stopped, or hangs, must not keep its clients waiting for ever. */
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

  attend(session: string, listener: SessionListener): void {
    this.#listeners.set(session, listener);
  }

  forget(session: string): void {
    this.#listeners.delete(session);
  }

  close(): void {
    this.#channel.close();
  }

  #listen(): void {
    this.#channel.on("session_output", (params) => {
      this.#listeners.get(params.session)?.output(params);
    });
    this.#channel.on("session_display", (params, attachments) => {
      this.#listeners.get(params.session)?.display(params, attachments);
    });
    this.#channel.on("session_query_over", ({ session, query }) => {
      this.#listeners.get(session)?.queryOver(query);
    });
    this.#channel.serve("session_query", async (params) => {
      const listener = this.#listeners.get(params.session);
      if (listener === undefined) throw new CellarError("SESSION_CLOSED", "the session is closed");
      return { output: await listener.query(params) };
    });
    this.#channel.closed.then(() => {
      for (const listener of this.#listeners.values()) listener.ended();
      this.#listeners.clear();
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
      const why = isLate ? `it was silent for ${ANSWER_MS} ms` : describeError(error);
      const message = `what listens at ${this.path} does not answer as a daemon: ${why}`;
      throw unresponsive(this.#address, message, { isLate, error });
    } finally {
      clearTimeout(timer);
    }
    const { protocol, version, pid } = this.#daemon;
    if (anyVersion || (protocol === own.protocol && version === own.version)) return;
    throw new CellarError(
      "DAEMON_UNAVAILABLE",
      `the daemon (pid ${pid}) is version ${version} with protocol ${protocol}, ` +
        `this is version ${own.version} with protocol ${own.protocol}`,
      {
        remedy: "Run cellar daemon stop; the next start takes this version.",
        details: { cause: "mismatch", daemon: this.#daemon, own },
      },
    );
  }

  #explained(error: unknown): CellarError {
    if (isCellarError(error, "REMOTE_ERROR")) return fromRemote(error);
    if (isCellarError(error, "SESSION_LOST") || isCellarError(error, "PROTOCOL_ERROR")) {
      return new CellarError(
        "SESSION_LOST",
        `the connection to the daemon was lost: ${error.message}`,
        {
          remedy:
            "Call again: where a daemon can be had the sandbox goes on in a new, empty session. " +
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

function reach(address: DaemonAddress): Promise<Socket> {
  const { path } = address;
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    const timer = setTimeout(
      () => fail(Object.assign(new Error("it takes no connection"), { code: "ETIMEDOUT" })),
      ANSWER_MS,
    );
    const fail = (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      socket.destroy();
      const isAbsent = error.code === "ECONNREFUSED" || error.code === "ENOENT";
      reject(
        isAbsent
          ? absent(path, "nobody listens there")
          : unresponsive(address, `${path} cannot be reached: ${error.message}`, {
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
