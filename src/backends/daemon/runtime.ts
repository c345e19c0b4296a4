import { resolve } from "node:path";
import {
  mergeLayer,
  type Surroundings,
  settingLayers,
  surroundings,
} from "../../config/environment.js";
import { CellarError, isCellarError } from "../../errors.js";
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
import { DaemonConnection, isAbsence, isSilence } from "./connection.js";
import { DaemonClientSandbox, type DaemonSession } from "./sandbox.js";

/** As in the settings' schema, which a short-lived client does not load. */
const USUAL_MINIMUM: IsolationLevel = "L3-";
const USUAL_WORKSPACE_MB = 256;

/** So long nobody waits again for one that did not answer, unless it is insisted on. */
const SILENCE_MS = 30_000;

export interface DaemonOptions {
  /** Starts a daemon where none runs. */
  readonly starts?: boolean;
}

/** With these the daemon refused what this process may be able to do by itself. */
const MENDABLE = [
  "DAEMON_UNAVAILABLE",
  "SANDBOX_UNAVAILABLE",
  "PYTHON_UNSUITABLE",
  "START_FAILED",
  "SESSION_LOST",
  "SESSION_CLOSED",
  "PROTOCOL_ERROR",
  "IO_ERROR",
] as const;

export function isRefusal(error: unknown): error is CellarError {
  return MENDABLE.some((code) => isCellarError(error, code));
}

type CreateOrder = Params<"session_create">;

interface Attempt {
  readonly link: Promise<DaemonConnection>;
  readonly starts: boolean;
}

/** A process's way to the daemon of its user: one link for all its sandboxes. */
export class DaemonRuntime implements AsyncDisposable {
  readonly #surroundings: Surroundings;
  readonly #address: DaemonAddress;
  #layers: Record<string, unknown> | undefined;
  /** Under way, or one that succeeded. */
  #attempt: Attempt | undefined;
  #silence: { readonly error: unknown; readonly until: number } | undefined;
  #isClosed = false;

  constructor(options: { readonly surroundings?: Surroundings } = {}) {
    this.#surroundings = options.surroundings ?? surroundings();
    this.#address = daemonAddress(this.#surroundings.home);
  }

  /** Where this user's daemon would be. */
  get address(): DaemonAddress {
    return this.#address;
  }

  async createSandbox(
    config: REPLConfig = {},
    { starts = false }: DaemonOptions = {},
  ): Promise<DaemonClientSandbox> {
    const wishes = splitConfig(config);
    const order = this.#order(wishes);
    const takeSeat = async () => this.#seat(await this.#open(starts), order, wishes.callbacks);
    return abortable(DaemonClientSandbox.open(takeSeat), config.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const link = await this.#attempt?.link.catch(() => undefined);
    link?.close();
  }

  async #open(starts: boolean): Promise<DaemonConnection> {
    if (this.#isClosed) throw closedError("the connection to the daemon was closed");
    const known = this.#attempt;
    if (known === undefined) return await this.#begin(starts).link;
    try {
      const link = await known.link;
      if (link.isOpen) return link;
    } catch (error) {
      // Who may start a daemon is not content with what befell one who may not.
      if (known.starts || !starts) throw error;
    }
    // Of all who waited for the same one, the first begins anew.
    if (this.#attempt === known) this.#attempt = undefined;
    return await this.#open(starts);
  }

  #begin(starts: boolean): Attempt {
    const silence = this.#silence;
    if (!starts && silence !== undefined && performance.now() < silence.until) throw silence.error;
    this.#silence = undefined;
    const attempt = { link: this.#reach(starts), starts };
    this.#attempt = attempt;
    attempt.link.catch((error: unknown) => {
      this.#attempt = undefined;
      if (isSilence(error)) this.#silence = { error, until: performance.now() + SILENCE_MS };
    });
    return attempt;
  }

  async #reach(starts: boolean): Promise<DaemonConnection> {
    try {
      return await DaemonConnection.open(this.#address);
    } catch (error) {
      if (!starts || !isAbsence(error)) throw error;
      const { startDaemon } = await import("./launch.js");
      await startDaemon(this.#surroundings, this.#address, { kept: false });
      return await DaemonConnection.open(this.#address);
    }
  }

  /** The settings as they stand here; the daemon judges them. */
  #order({ options, mounts, callbacks }: Wishes): CreateOrder {
    this.#layers ??= settingLayers();
    const settings = mergeLayer(this.#layers, options as Record<string, unknown>);
    const { python } = settings;
    const { path, packageRoot, environment } = this.#surroundings;
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

  async #seat(
    link: DaemonConnection,
    order: CreateOrder,
    callbacks: Callbacks,
  ): Promise<DaemonSession> {
    const { session, info } = await link.request("session_create", order);
    try {
      refuseBelow(order.settings.minIsolation, info);
    } catch (error) {
      await link.request("session_destroy", { session });
      throw error;
    }
    const clientCallbacks = new ClientCallbacks(callbacks);
    link.attend(session, clientCallbacks);
    const workspace = workspaceLimit({ workspaceMb: workspaceMbOf(order.settings) });
    return {
      link,
      session,
      calledAs: session,
      info: describe(link, info),
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

/** The daemon holds to it; a client only tells it, and reads no more than that. */
function workspaceMbOf({ limits }: Record<string, unknown>): number {
  const { workspaceMb } = (limits ?? {}) as { readonly workspaceMb?: unknown };
  return typeof workspaceMb === "number" ? workspaceMb : USUAL_WORKSPACE_MB;
}

/** The daemon has looked at this too; a client does not take its word for its own safety. */
function refuseBelow(minimum: unknown, { isolation }: Result<"session_create">["info"]): void {
  const least = ISOLATION_LEVELS.find((level) => level === minimum) ?? USUAL_MINIMUM;
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
