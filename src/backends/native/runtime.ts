import { type HostEnvironment, hostEnvironment, settingLayers } from "../../config/environment.js";
import { checkNames, requireOptions } from "../../config/kinds.js";
import type { Settings } from "../../config.js";
import type { REPLConfig } from "../backend.js";
import type { SessionDir } from "../host/session-dir.js";
import type { StatefulRuntime } from "../stateful-sandbox.js";
import type { NativeSandboxes } from "./native-sandboxes.js";
import type { NativePythonSandbox } from "./sandbox.js";
import { shutDown } from "./shut-down.js";
import type { ZygoteHost } from "./zygote/zygote-host.js";

export interface RuntimeOptions {
  /** False to treat the machine as one without bubblewrap. */
  readonly walls?: boolean;
  readonly hostEnvironment?: HostEnvironment;
}

/** Holds the zygotes of a process; sandboxes that are alike share one. What it needs is loaded on first use. */
export class NativeRuntime implements StatefulRuntime, AsyncDisposable {
  readonly #hasWalls: boolean;
  readonly #hostEnvironment: HostEnvironment;
  readonly #layers = settingLayers();
  #sandboxes: Promise<NativeSandboxes> | undefined;
  #isClosed = false;

  constructor(options: RuntimeOptions = {}) {
    checkNames("NativeRuntime", requireOptions("the options of a runtime", options), {
      walls: true,
      hostEnvironment: true,
    });
    this.#hasWalls = options.walls ?? process.platform === "linux";
    this.#hostEnvironment = options.hostEnvironment ?? hostEnvironment();
  }

  /** `chosen` says why it is this backend, where there was a choice. */
  async createSandbox(
    config: REPLConfig = {},
    chosen?: string,
    dir?: SessionDir,
  ): Promise<NativePythonSandbox> {
    return await (await this.#loaded(config)).createSandbox(config, chosen, dir);
  }

  /** Makes the folder of a sandbox of this kind; quickly, where a spare one has a session in it. */
  async prepareDir(config: REPLConfig, dir: SessionDir): Promise<void> {
    (await this.#loaded(config)).prepareDir(config, dir);
  }

  async zygotes(settings: Settings): Promise<ZygoteHost> {
    return (await this.#loaded(settings)).zygotes(settings);
  }

  #loaded(wishes: Pick<REPLConfig, "python">): Promise<NativeSandboxes> {
    if (this.#isClosed) return Promise.reject(shutDown());
    this.#sandboxes ??= this.#load(wishes.python ?? this.#layers.python);
    return this.#sandboxes;
  }

  async #load(python: unknown): Promise<NativeSandboxes> {
    const { answerEarly } = await import("../host/early-answer.js");
    const early = answerEarly(python, this.#hostEnvironment);
    const { NativeSandboxes } = await import("./native-sandboxes.js");
    return new NativeSandboxes({
      hasWalls: this.#hasWalls,
      hostEnvironment: this.#hostEnvironment,
      layers: this.#layers,
      early,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await (await this.#sandboxes)?.close();
  }
}
