import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { REPLConfig } from "../../backends/backend.js";
import {
  makeSessionDir,
  type SessionDir,
  sessionDirOwner,
  sessionDirPath,
} from "../../backends/host/session-dir.js";
import type { StatefulRuntime, StatefulSandbox } from "../../backends/stateful-sandbox.js";
import { EgressProxy } from "../../egress/proxy.js";
import { needingPython } from "../../isolation/python-needed.js";
import type { ResolvedNotebookOptions } from "../options.js";
import { diskFault } from "../store/disk-faults.js";
import { Workspace } from "../workspace/workspace.js";
import type { CellEvents } from "./events.js";
import { writeOwnerMark } from "./owner-mark.js";

/** The session folders of all notebooks; the name on the disk is that of earlier versions. */
export function sessionDirsIn(dir: string): string {
  return join(dir, "rooms");
}

export async function removeSessionDir(
  sessionDir: Pick<SessionDir, "root" | "name">,
): Promise<void> {
  await new Workspace(makeSessionDir(sessionDir), { workspaceMb: 1 }).clear();
  await rm(sessionDirPath(sessionDir), { recursive: true, force: true });
}

export interface SessionFilesOptions {
  readonly resolved: ResolvedNotebookOptions;
  readonly runtime: StatefulRuntime;
  /** Of the session folder. */
  readonly name: string;
  /** Set where the network was cut. */
  readonly cutReason: string | undefined;
}

/** What the sessions of a notebook share, one after the other: folder, workspace and egress proxy. */
export class SessionFiles implements AsyncDisposable {
  readonly sessionDir: SessionDir;
  readonly workspace: Workspace;
  readonly proxy: EgressProxy | undefined;
  /** Gets the output of the running cell. */
  listener: CellEvents | undefined;
  readonly #runtime: StatefulRuntime;
  readonly #config: REPLConfig;
  #signal: AbortSignal | undefined;
  #prepared: Promise<StatefulSandbox> | undefined;

  private constructor(
    plan: SessionFilesOptions,
    sessionDir: SessionDir,
    proxy: EgressProxy | undefined,
  ) {
    const { config, settings } = plan.resolved;
    this.sessionDir = sessionDir;
    this.proxy = proxy;
    this.workspace = new Workspace(makeSessionDir(sessionDir), settings.limits);
    this.#runtime = plan.runtime;
    this.#config = { ...config, env: { ...proxy?.environment, ...config.env } };
    this.#signal = config.signal;
  }

  static async open(plan: SessionFilesOptions): Promise<SessionFiles> {
    const { resolved, name, cutReason } = plan;
    const { network } = resolved.settings;
    const sessionDir = {
      root: sessionDirsIn(resolved.dir),
      name,
      hasEgress: typeof network === "object",
    };
    try {
      await plan.runtime.prepareDir(resolved.config, sessionDir);
    } catch (error) {
      throw diskFault(`making ${sessionDirPath(sessionDir)}`, error);
    }
    await writeOwnerMark(sessionDir, resolved.id);
    if (typeof network !== "object") return new SessionFiles(plan, sessionDir, undefined);
    const { allow } = network;
    const proxy = await EgressProxy.open({
      folder: sessionDirPath(sessionDir),
      owner: sessionDirOwner(),
      allow,
      cutReason,
    });
    return new SessionFiles(plan, sessionDir, proxy);
  }

  /** In a new session folder, which is removed again on failure. */
  static async openNew(plan: SessionFilesOptions): Promise<SessionFiles> {
    try {
      return await SessionFiles.open(plan);
    } catch (error) {
      await removeSessionDir({ root: sessionDirsIn(plan.resolved.dir), name: plan.name }).catch(
        () => {},
      );
      throw error;
    }
  }

  prepare(): void {
    this.#prepared ??= this.#start();
    this.#prepared.catch(() => {});
  }

  createSandbox(): Promise<StatefulSandbox> {
    const prepared = this.#prepared;
    this.#prepared = undefined;
    return prepared ?? this.#start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const prepared = await this.#prepared?.catch(() => undefined);
    await prepared?.destroy();
    await this.proxy?.[Symbol.asyncDispose]();
  }

  #start(): Promise<StatefulSandbox> {
    const config = this.#config;
    const signal = this.#signal;
    // The signal is only for opening the notebook.
    this.#signal = undefined;
    const listening: REPLConfig = {
      ...config,
      signal,
      onStdout: (text) => {
        this.listener?.push({ type: "stdout", text });
        config.onStdout?.(text);
      },
      onStderr: (text) => {
        this.listener?.push({ type: "stderr", text });
        config.onStderr?.(text);
      },
      onDisplay: (output) => {
        this.listener?.push(output);
        config.onDisplay?.(output);
      },
    };
    const started = this.#runtime.createSandbox(
      listening,
      "notebooks need CPython in a sandbox",
      this.sessionDir,
    );
    return needingPython("Notebooks need", started);
  }
}
