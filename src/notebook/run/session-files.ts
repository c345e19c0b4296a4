import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { REPLConfig } from "../../backends/backend.js";
import {
  makeSessionDir,
  type SessionDir,
  sessionDirPath,
} from "../../backends/host/session-dir.js";
import type { StatefulRuntime, StatefulSandbox } from "../../backends/stateful-sandbox.js";
import { needingPython } from "../../isolation/python-needed.js";
import { EgressProxy } from "../egress/proxy.js";
import type { NotebookWishes } from "../options.js";
import { diskFault } from "../store/disk-faults.js";
import { Workspace } from "../workspace/workspace.js";
import type { CellEvents } from "./events.js";
import { signRoom } from "./owner-mark.js";

/** Where the rooms of all notebooks are. */
export function roomsIn(dir: string): string {
  return join(dir, "rooms");
}

/** With all that is in it, wherever its links lead. */
export async function razeRoom(room: Pick<SessionDir, "root" | "name">): Promise<void> {
  await new Workspace(makeSessionDir(room), { workspaceMb: 1 }).clear();
  await rm(sessionDirPath(room), { recursive: true, force: true });
}

export interface SessionFilesOptions {
  readonly wishes: NotebookWishes;
  readonly runtime: StatefulRuntime;
  /** The name of the room. */
  readonly name: string;
  /** Set where nothing may be reached any more. */
  readonly cutReason: string | undefined;
}

/** Where the sessions of a notebook live, one after the other: the room, its files and the way out. */
export class SessionFiles implements AsyncDisposable {
  readonly room: SessionDir;
  readonly workspace: Workspace;
  /** The one way out, where some hosts may be reached. */
  readonly proxy: EgressProxy | undefined;
  /** Hears what the running cell shows. */
  listener: CellEvents | undefined;
  readonly #runtime: StatefulRuntime;
  readonly #config: REPLConfig;
  #signal: AbortSignal | undefined;
  #prepared: Promise<StatefulSandbox> | undefined;

  private constructor(
    order: SessionFilesOptions,
    room: SessionDir,
    proxy: EgressProxy | undefined,
  ) {
    const { config, settings } = order.wishes;
    this.room = room;
    this.proxy = proxy;
    this.workspace = new Workspace(makeSessionDir(room), settings.limits);
    this.#runtime = order.runtime;
    this.#config = { ...config, env: { ...proxy?.environment, ...config.env } };
    this.#signal = config.signal;
  }

  static async open(order: SessionFilesOptions): Promise<SessionFiles> {
    const { wishes, name, cutReason } = order;
    const { network } = wishes.settings;
    const room = { root: roomsIn(wishes.dir), name, hasEgress: typeof network === "object" };
    try {
      order.runtime.prepareDir(wishes.config, room);
    } catch (error) {
      throw diskFault(`making ${sessionDirPath(room)}`, error);
    }
    await signRoom(room, wishes.id);
    if (typeof network !== "object") return new SessionFiles(order, room, undefined);
    const { allow } = network;
    const proxy = await EgressProxy.open({ folder: sessionDirPath(room), allow, cutReason });
    return new SessionFiles(order, room, proxy);
  }

  /** In a room that was not there before, and of which nothing stays when it cannot be made. */
  static async openNew(order: SessionFilesOptions): Promise<SessionFiles> {
    try {
      return await SessionFiles.open(order);
    } catch (error) {
      await razeRoom({ root: roomsIn(order.wishes.dir), name: order.name }).catch(() => {});
      throw error;
    }
  }

  /** Starts the next session ahead. */
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
    // It is for the opening; later sessions come when they are needed.
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
      this.room,
    );
    return needingPython("Notebooks need", started);
  }
}
