import { resolve } from "node:path";
import { type HostEnvironment, hostEnvironment, settingLayers } from "../../config/environment.js";
import { mergeLayer } from "../../config/layers.js";
import { CellarError } from "../../errors.js";
import { ISOLATION_LEVELS, type IsolationLevel, meets } from "../../isolation/levels.js";
import { adviceToLower } from "../../isolation/remedies.js";
import type { Params, Result } from "../../protocol/messages.js";
import type { REPLConfig, SandboxInfo } from "../backend.js";
import { workspaceLimit } from "../files/workspace-file.js";
import { abortable, splitConfig, type Wishes } from "../options.js";
import type { Callbacks } from "../session/cell/callbacks.js";
import { closedError } from "../session/checks.js";
import { type DaemonAddress, daemonAddress } from "./address.js";
import { ClientCallbacks } from "./client-callbacks.js";
import { DaemonConnection } from "./connection.js";
import { isDaemonAbsent, isDaemonSilent } from "./refusals.js";
import { DaemonClientSandbox, type DaemonSession } from "./sandbox.js";

/** Defaults of the settings schema, which a short-lived client does not load. */
const DEFAULT_MIN_ISOLATION: IsolationLevel = "L3-";
const DEFAULT_WORKSPACE_MB = 256;

/** How long an unresponsive daemon is not tried again, unless the caller may start one. */
const SILENCE_MS = 30_000;

export interface DaemonOptions {
  /** Start a daemon if none is running. */
  readonly starts?: boolean;
}

type CreateOrder = Params<"session_create">;

interface Attempt {
  readonly connection: Promise<DaemonConnection>;
  readonly starts: boolean;
}

/** This process's connection to its user's daemon, shared by all its sandboxes. */
export class DaemonRuntime implements AsyncDisposable {
  readonly #hostEnvironment: HostEnvironment;
  readonly #address: DaemonAddress;
  #layers: Record<string, unknown> | undefined;
  /** In progress, or successful. */
  #attempt: Attempt | undefined;
  #silence: { readonly error: unknown; readonly until: number } | undefined;
  #isClosed = false;

  constructor(options: { readonly hostEnvironment?: HostEnvironment } = {}) {
    this.#hostEnvironment = options.hostEnvironment ?? hostEnvironment();
    this.#address = daemonAddress(this.#hostEnvironment.home);
  }

  get address(): DaemonAddress {
    return this.#address;
  }

  async createSandbox(
    config: REPLConfig = {},
    { starts = false }: DaemonOptions = {},
  ): Promise<DaemonClientSandbox> {
    const wishes = splitConfig(config);
    const order = this.#order(wishes);
    const createSession = async () =>
      this.#createSession(await this.#open(starts), order, wishes.callbacks);
    return abortable(DaemonClientSandbox.open(createSession), config.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const connection = await this.#attempt?.connection.catch(() => undefined);
    connection?.close();
  }

  async #open(starts: boolean): Promise<DaemonConnection> {
    if (this.#isClosed) throw closedError("the connection to the daemon was closed");
    const known = this.#attempt;
    if (known === undefined) return await this.#begin(starts).connection;
    try {
      const connection = await known.connection;
      if (connection.isOpen) return connection;
    } catch (error) {
      // This call may start a daemon; the one that failed could not.
      if (known.starts || !starts) throw error;
    }
    // Of all callers that waited for this attempt, the first one makes the next.
    if (this.#attempt === known) this.#attempt = undefined;
    return await this.#open(starts);
  }

  #begin(starts: boolean): Attempt {
    const silence = this.#silence;
    if (!starts && silence !== undefined && performance.now() < silence.until) throw silence.error;
    this.#silence = undefined;
    const attempt = { connection: this.#connect(starts), starts };
    this.#attempt = attempt;
    attempt.connection.catch((error: unknown) => {
      this.#attempt = undefined;
      if (isDaemonSilent(error)) this.#silence = { error, until: performance.now() + SILENCE_MS };
    });
    return attempt;
  }

  async #connect(starts: boolean): Promise<DaemonConnection> {
    try {
      return await DaemonConnection.open(this.#address);
    } catch (error) {
      if (!starts || !isDaemonAbsent(error)) throw error;
      const { startDaemon } = await import("./launch.js");
      await startDaemon(this.#hostEnvironment, this.#address, { kept: false });
      return await DaemonConnection.open(this.#address);
    }
  }

  /** The daemon validates the settings. */
  #order({ options, mounts, callbacks }: Wishes): CreateOrder {
    this.#layers ??= settingLayers();
    const settings = mergeLayer(this.#layers, options as Record<string, unknown>);
    const { python } = settings;
    const { path, packageRoot, environment } = this.#hostEnvironment;
    return {
      settings: { ...settings, ...(typeof python === "string" && { python: resolve(python) }) },
      search: { path, package_root: packageRoot, python: environment },
      mounts: mounts.map(({ host, guest, readonly = true }) => ({ host, guest, readonly })),
      environment: { ...callbacks.env },
      listens: [
        ...(callbacks.onStdout === undefined ? [] : (["stdout"] as const)),
        ...(callbacks.onStderr === undefined ? [] : (["stderr"] as const)),
        ...(callbacks.onBackground === undefined ? [] : (["background"] as const)),
      ],
      answers: [
        ...(callbacks.onLLMQuery === undefined ? [] : (["llm_query"] as const)),
        ...(callbacks.onRLMQuery === undefined ? [] : (["rlm_query"] as const)),
      ],
      ...(callbacks.tools !== undefined && {
        tools: [...callbacks.tools.values()].map(({ spec }) => spec),
      }),
    };
  }

  async #createSession(
    connection: DaemonConnection,
    order: CreateOrder,
    callbacks: Callbacks,
  ): Promise<DaemonSession> {
    const { session: id, info } = await connection.request("session_create", order);
    try {
      refuseBelow(order.settings.minIsolation, info);
    } catch (error) {
      await connection.request("session_destroy", { session: id });
      throw error;
    }
    const clientCallbacks = new ClientCallbacks(callbacks);
    connection.listeners.set(id, clientCallbacks);
    const workspace = workspaceLimit({ workspaceMb: workspaceMbOf(order.settings) });
    return {
      connection,
      id,
      listenerId: id,
      info: describe(connection, info),
      clientCallbacks,
      workspace,
    };
  }
}

function describe(
  { daemon, path }: DaemonConnection,
  info: Result<"session_create">["info"],
): SandboxInfo {
  const { pid, version } = daemon;
  const answered = `the daemon (pid ${pid}, version ${version}) answered at ${path}`;
  return { backend: "daemon", ...info, reason: `${answered}; ${info.reason}` };
}

/** The daemon enforces it; the client uses it for messages and as a bound of what it reads. */
function workspaceMbOf({ limits }: Record<string, unknown>): number {
  const { workspaceMb } = (limits ?? {}) as { readonly workspaceMb?: unknown };
  return typeof workspaceMb === "number" ? workspaceMb : DEFAULT_WORKSPACE_MB;
}

/** The daemon checks this too, but the client does not rely on it. */
function refuseBelow(minimum: unknown, { isolation }: Result<"session_create">["info"]): void {
  const least = ISOLATION_LEVELS.find((level) => level === minimum) ?? DEFAULT_MIN_ISOLATION;
  if (meets(isolation.level, least)) return;
  throw new CellarError(
    "SANDBOX_UNAVAILABLE",
    `the daemon offers isolation ${isolation.level}, below the minimum ${least}`,
    {
      remedy: adviceToLower("below-minimum", isolation.level),
      details: {
        cause: "below-minimum",
        level: isolation.level,
        missing: isolation.missing,
        option: "minIsolation",
      },
    },
  );
}
