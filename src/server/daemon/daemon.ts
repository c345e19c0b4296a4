import { createServer, type Server } from "node:net";
import type { REPLConfig } from "../../backends/backend.js";
import type { DaemonAddress } from "../../backends/daemon/address.js";
import { NativeRuntime } from "../../backends/native/runtime.js";
import type { PythonSandbox } from "../../backends/session/sandbox.js";
import type { HostEnvironment } from "../../config/environment.js";
import { resolveSettings, type Settings } from "../../config.js";
import { describeError } from "../../errors.js";
import { usualPython } from "../../isolation/python-candidates.js";
import type { Params, Result } from "../../protocol/messages.js";
import { Client, type DaemonControl } from "./client.js";
import { claimSocket } from "./socket-claim.js";

type Warmth = Result<"daemon_status">["warmth"];

/** How long to wait for clients that do not read. */
const CLOSE_CLIENTS_MS = 2_000;

export interface DaemonParts {
  readonly hostEnvironment: HostEnvironment;
  readonly address: DaemonAddress;
  /** Stays until it is stopped, and not only while it has clients. */
  readonly kept: boolean;
}

/** Holds warm sessions for the short-lived processes of one user. */
export class Daemon implements DaemonControl {
  /** Settles when everything has ended. */
  readonly ended: Promise<void>;
  readonly #server: Server;
  readonly #hostEnvironment: HostEnvironment;
  readonly #settings: Settings = resolveSettings();
  readonly #runtime: NativeRuntime;
  readonly #clients = new Set<Client>();
  readonly #started = performance.now();
  #claim: Disposable | undefined;
  #warmth: Warmth = { state: "warming" };
  #warming: Promise<void> | undefined;
  #isKept: boolean;
  #idle: NodeJS.Timeout | undefined;
  #stopping: Promise<void> | undefined;
  #settleEnded: () => void = () => {};

  private constructor(server: Server, { hostEnvironment, kept }: DaemonParts) {
    this.#server = server;
    this.#hostEnvironment = hostEnvironment;
    this.#isKept = kept;
    this.#runtime = new NativeRuntime({ hostEnvironment });
    this.ended = new Promise((resolve) => {
      this.#settleEnded = resolve;
    });
  }

  static async open(parts: DaemonParts): Promise<Daemon> {
    const server = createServer();
    const daemon = new Daemon(server, parts);
    server.on("connection", (socket) => daemon.#addClient(new Client(socket, daemon)));
    daemon.#claim = await claimSocket(server, parts.address);
    daemon.#startIdleTimer();
    daemon.#warming = daemon.#warm();
    return daemon;
  }

  async create(order: Params<"session_create">, callbacks: REPLConfig): Promise<PythonSandbox> {
    const { search, mounts, environment: env } = order;
    const { path, package_root: packageRoot, python: environment } = search;
    const usual = usualPython({ path, packageRoot, environment });
    const isUsualHere =
      this.#settings.python === undefined && usual === usualPython(this.#hostEnvironment);
    // The client sends all its settings; those of the daemon's environment do not apply.
    const settings = resolveSettings(order.settings, {});
    const config: REPLConfig = {
      ...settings,
      ...(settings.python === undefined && !isUsualHere && { python: usual }),
      // How many wait ahead is a matter of the process that holds them.
      poolSize: this.#settings.poolSize,
      mounts,
      ...(Object.keys(env).length > 0 && { env }),
      ...callbacks,
    };
    return await this.#runtime.createSandbox(config);
  }

  async status(settled: boolean): Promise<Result<"daemon_status">> {
    if (settled) await this.#warming;
    return {
      kept: this.#isKept,
      clients: this.#clients.size,
      sessions: [...this.#clients].reduce((sum, { sessionCount }) => sum + sessionCount, 0),
      uptime_ms: Math.round(performance.now() - this.#started),
      warmth: this.#warmth,
    };
  }

  keep(): void {
    this.#isKept = true;
    clearTimeout(this.#idle);
  }

  /** Ends every session, and answers waiting requests before closing the connections. */
  stop(): Promise<void> {
    this.#stopping ??= this.#end();
    return this.#stopping;
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle);
    this.#claim?.[Symbol.dispose]();
    this.#server.close();
    await this.#runtime[Symbol.asyncDispose]();
    // Pending answers are written first, including that to daemon_stop.
    setImmediate(() => {
      const late = setTimeout(this.#settleEnded, CLOSE_CLIENTS_MS);
      const closing = [...this.#clients].map((client) => client.end());
      Promise.allSettled(closing).then(() => {
        clearTimeout(late);
        this.#settleEnded();
      });
    });
  }

  #addClient(client: Client): void {
    this.#clients.add(client);
    clearTimeout(this.#idle);
    client.gone.then(() => {
      this.#clients.delete(client);
      this.#startIdleTimer();
    });
  }

  /** Without clients, one that was started on demand leaves after a while. */
  #startIdleTimer(): void {
    if (this.#isKept || this.#clients.size > 0 || this.#stopping !== undefined) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.stop(), this.#settings.daemonIdle);
  }

  async #warm(): Promise<void> {
    try {
      const { isolation, interpreter } = await (await this.#runtime.zygotes(this.#settings)).warm();
      const { level, missing } = isolation;
      this.#warmth = {
        state: "ready",
        isolation: { level, missing: [...missing] },
        python: `${interpreter.version}, ${interpreter.executable}`,
      };
    } catch (error) {
      this.#warmth = { state: "failed", reason: describeError(error) };
    }
  }
}
