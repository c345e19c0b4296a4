import type { HostEnvironment } from "../../config/environment.js";
import { resolveSettings, type Settings } from "../../config.js";
import type { Mount } from "../../isolation/bwrap.js";
import type { EarlyAnswer } from "../../isolation/interpreter-question.js";
import type { REPLConfig } from "../backend.js";
import { makeSessionDir, type SessionDir } from "../host/session-dir.js";
import { abortable, splitConfig } from "../options.js";
import { PythonSandbox } from "../session/sandbox.js";
import { NativePythonSandbox } from "./sandbox.js";
import { SessionOpener } from "./session-opener.js";
import { shutDown } from "./shut-down.js";
import { SingleProcesses } from "./wall/single-process.js";
import { ZygoteHost } from "./zygote/zygote-host.js";

const MAX_REMEMBERED = 100;

/** Each kind of session has a zygote, and a zygote with its pool costs hundreds of megabytes. */
const MAX_ZYGOTES = 4;

export interface SandboxesPlan {
  readonly hasWalls: boolean;
  readonly hostEnvironment: HostEnvironment;
  /** The settings from outside the code. */
  readonly layers: Record<string, unknown>;
  readonly early: EarlyAnswer | undefined;
}

/** What a runtime does once it is used: opens sandboxes, and holds the zygotes that those alike share. */
export class NativeSandboxes {
  readonly #hasWalls: boolean;
  readonly #hostEnvironment: HostEnvironment;
  readonly #zygoteHosts = new Map<string, ZygoteHost>();
  readonly #layers: Record<string, unknown>;
  readonly #early: EarlyAnswer | undefined;
  readonly #resolved = new Map<string, Settings>();
  readonly #usual = new WeakMap<Settings, ZygoteHost>();
  readonly #folders = new Set<Disposable>();
  readonly #singles: SingleProcesses;
  readonly #sweep = () => {
    for (const folder of this.#folders) folder[Symbol.dispose]();
  };
  #isClosed = false;

  constructor({ hasWalls, hostEnvironment, layers, early }: SandboxesPlan) {
    this.#hasWalls = hasWalls;
    this.#hostEnvironment = hostEnvironment;
    this.#layers = layers;
    this.#early = early;
    this.#singles = new SingleProcesses(hostEnvironment, this.#folders);
  }

  async createSandbox(
    config: REPLConfig,
    chosen: string | undefined,
    dir: SessionDir | undefined,
  ): Promise<NativePythonSandbox> {
    const { options } = splitConfig(config);
    const { network, pids } = this.#settings(options);
    const isWalled = this.#hasWalls && pids === "own";
    // Whoever owns the folder may have a proxy already; where there are no walls, the list is refused.
    const needsEgress = typeof network === "object" && dir?.hasEgress !== true && isWalled;
    const start = needsEgress
      ? this.#startWithEgress(config, chosen, network.allow, dir)
      : this.#start(config, chosen, dir);
    return abortable(start, config.signal);
  }

  #start(
    config: REPLConfig,
    chosen: string | undefined,
    dir: SessionDir | undefined,
  ): Promise<NativePythonSandbox> {
    const { options, mounts, callbacks } = splitConfig(config);
    const settings = this.#settings(options);
    const zygotes =
      this.#hasWalls && settings.pids === "own"
        ? this.zygotes(settings, mounts, dir?.root)
        : undefined;
    const order = { settings, mounts, dir, chosen, zygotes, singles: this.#singles };
    const sessions = new SessionOpener(order, this.#hasWalls);
    return PythonSandbox.open(NativePythonSandbox, sessions, settings, callbacks);
  }

  async #startWithEgress(
    config: REPLConfig,
    chosen: string | undefined,
    allow: readonly string[],
    dir: SessionDir | undefined,
  ): Promise<NativePythonSandbox> {
    const { SandboxEgress } = await import("./sandbox-egress.js");
    const egress = await SandboxEgress.open(allow, dir);
    try {
      const env = { ...egress.proxy.environment, ...config.env };
      const sandbox = await this.#start({ ...config, env }, chosen, egress.dir);
      sandbox.holdEgress(egress);
      return sandbox;
    } catch (error) {
      await egress.release();
      throw error;
    }
  }

  prepareDir(config: REPLConfig, dir: SessionDir): void {
    const { options, mounts } = splitConfig(config);
    const settings = this.#settings(options);
    const isMade = this.#hasWalls && this.zygotes(settings, mounts, dir.root).claim(dir);
    if (!isMade) makeSessionDir(dir);
  }

  /** Sandboxes are mostly made alike, and checking their settings anew would cost as much as a cell. */
  #settings(options: object): Settings {
    const key = JSON.stringify(options);
    const known = this.#resolved.get(key);
    if (known !== undefined) return known;
    const settings = resolveSettings(options, this.#layers);
    if (this.#resolved.size < MAX_REMEMBERED) this.#resolved.set(key, settings);
    return settings;
  }

  zygotes(settings: Settings, mounts: readonly Mount[] = [], sessionRoot?: string): ZygoteHost {
    if (this.#isClosed) throw shutDown();
    const isUsual = mounts.length === 0 && sessionRoot === undefined;
    const usual = isUsual ? this.#usual.get(settings) : undefined;
    if (usual?.isRunning === true) return usual;
    const { python, preload, limits, poolSize, keepCheckpoints, checkpointMethod } = settings;
    const sharesNetwork = settings.network === "host";
    const zygote = [python, preload, mounts, sessionRoot, sharesNetwork, checkpointMethod];
    const key = JSON.stringify([...zygote, limits, poolSize, keepCheckpoints]);
    const known = this.#zygoteHosts.get(key);
    if (known?.isRunning !== true) this.#makePlace();
    if (known !== undefined) return known;
    const made = new ZygoteHost({
      settings,
      mounts,
      sessionRoot,
      hostEnvironment: this.#hostEnvironment,
      early: this.#early,
      folders: this.#folders,
    });
    if (this.#zygoteHosts.size === 0) process.on("exit", this.#sweep);
    this.#zygoteHosts.set(key, made);
    if (isUsual) this.#usual.set(settings, made);
    return made;
  }

  /** Before another zygote starts: lets the least recently used ones drain. */
  #makePlace(): void {
    const running = [...this.#zygoteHosts.values()]
      .filter((zygotes) => zygotes.isRunning)
      .sort((a, b) => a.lastUsed - b.lastUsed);
    for (const zygotes of running.slice(0, Math.max(0, running.length - MAX_ZYGOTES + 1))) {
      zygotes.rest();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const zygotes = [...this.#zygoteHosts.values()].map((host) => host.close());
    await Promise.all([...zygotes, this.#singles.close()]);
    process.off("exit", this.#sweep);
  }
}
