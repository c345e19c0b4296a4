import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { basename, dirname } from "node:path";
import type { REPLConfig } from "../../backends/backend.js";
import { packExecution } from "../../backends/daemon/result-codec.js";
import type { FileMethod, FileOrder } from "../../backends/files/sandbox-files.js";
import { completeFor } from "../../backends/session/completion.js";
import type { PythonSandbox } from "../../backends/session/sandbox.js";
import { packageVersion } from "../../config/environment.js";
import { CellarError } from "../../errors.js";
import { MAX_DAEMON_FRAME_BYTES, PROTOCOL_VERSION } from "../../protocol/bounds.js";
import type { Params, RequestMethod, Result } from "../../protocol/messages.js";
import { Peer } from "../../protocol/peer.js";
import { decodeValue, encodeDecoded } from "../../protocol/values.js";
import { CallbackForwarder } from "./callback-forwarder.js";

/** What a client may ask of the daemon as a whole. */
export interface DaemonControl {
  create(order: Params<"session_create">, callbacks: REPLConfig): Promise<PythonSandbox>;
  status(settled: boolean): Promise<Result<"daemon_status">>;
  keep(): void;
  stop(): Promise<void>;
}

/** Requests to one session. */
type SessionMethod = Exclude<Extract<RequestMethod, `session_${string}`>, "session_create">;

interface ClientSession {
  readonly sandbox: PythonSandbox;
  readonly forwarder: CallbackForwarder;
  /** Whether the forwarder sends under its id; its forks share the forwarder. */
  readonly ownsForwarder: boolean;
  readonly cells: Map<number, AbortController>;
  readonly folders: Set<string>;
}

/** A silent client must not keep the daemon running. */
const GREETING_MS = 10_000;

const SPOOL_FOLDER = /^cellar-\d+-\w{6}$/;

/** One connection. Its sessions belong to it alone and end with it. */
export class Client {
  readonly #control: DaemonControl;
  readonly #socket: Socket;
  readonly #peer: Peer;
  readonly #sessions = new Map<string, ClientSession>();
  readonly #gone: Promise<void>;
  #hasSpoken = false;
  #isGreeted = false;

  constructor(socket: Socket, control: DaemonControl) {
    this.#control = control;
    this.#socket = socket;
    this.#peer = new Peer(socket, {
      maxFrameBytes: MAX_DAEMON_FRAME_BYTES,
      maxUnreadBytes: 2 * MAX_DAEMON_FRAME_BYTES,
      tellsDetails: true,
    });
    const timer = setTimeout(() => {
      if (!this.#hasSpoken) this.#peer.close();
    }, GREETING_MS);
    this.#gone = this.#peer.closed.then(() => {
      clearTimeout(timer);
      return this.#clear();
    });
    this.#serveControl();
    this.#serveSessions();
    this.#serveAgent();
    this.#serveFiles();
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  /** Settles when the connection and all its sessions are over. */
  get gone(): Promise<void> {
    return this.#gone;
  }

  /** Lets out what was written, and closes. */
  async end(): Promise<void> {
    if (this.#peer.isOpen) await new Promise<void>((resolve) => this.#socket.end(resolve));
    this.#peer.close();
    await this.#gone;
  }

  #serveControl(): void {
    this.#peer.serve("daemon_greet", async ({ protocol, version }) => {
      this.#hasSpoken = true;
      const own = { protocol: PROTOCOL_VERSION, version: packageVersion() };
      this.#isGreeted = protocol === own.protocol && version === own.version;
      return { ...own, pid: process.pid };
    });
    this.#peer.serve("daemon_stop", async () => {
      await this.#control.stop();
      return {};
    });
    this.#serve("daemon_keep", async () => {
      this.#control.keep();
      return {};
    });
    this.#serve("daemon_status", ({ settled }) => this.#control.status(settled));
  }

  #serveSessions(): void {
    this.#serve("session_create", (order) => this.#create(order));
    this.#serve("session_initialize", (order) => this.#initialize(order));
    this.#serve("session_execute", (order) => this.#execute(order));
    this.#peer.on("session_cancel", ({ session, cell }) => {
      const owned = this.#sessions.get(session);
      if (cell === null) void owned?.sandbox.cancel();
      else owned?.cells.get(cell)?.abort();
    });
    this.#serveSandbox("session_get_variable", async (sandbox, { name }) => {
      const value = await sandbox.getVariable(name);
      if (value === undefined) return { found: false as const };
      return { found: true as const, value: JSON.stringify(encodeDecoded(value)) };
    });
    this.#serveSandbox("session_set_variable", async (sandbox, { name, value }) => {
      await sandbox.setVariable(name, readValue(value));
      return {};
    });
    this.#serveSandbox("session_variables", async (sandbox) => ({
      variables: [...(await sandbox.variables())],
    }));
    this.#serveSandbox("session_complete", (sandbox, { session: _, ...at }) =>
      completeFor(sandbox, at),
    );
    this.#serveSandbox("session_is_complete", (sandbox, { code }) => sandbox.isComplete(code));
    this.#serveSandbox("session_checkpoints", async (sandbox) => ({
      checkpoints: [...(await sandbox.checkpoints())],
    }));
    this.#serveSandbox("session_undo", (sandbox, { cells }) => sandbox.undo(cells));
    this.#serve("session_fork", async ({ session }) => {
      const owned = this.#session(session);
      const fork = await owned.sandbox.fork();
      const { forwarder, folders } = owned;
      return this.#addSession(newSessionId(), {
        sandbox: fork,
        forwarder,
        folders,
        ownsForwarder: false,
      });
    });
    this.#serve("session_destroy", async ({ session }) => {
      await this.#endSession(session, this.#session(session));
      return {};
    });
  }

  #serveAgent(): void {
    this.#serveSandbox("session_get_agent_state", async (sandbox) => ({
      state: JSON.stringify(encodeDecoded(await sandbox.getAgentState())),
    }));
    this.#serveSandbox("session_set_agent_state", async (sandbox, { state }) => {
      await sandbox.setAgentState(readValue(state));
      return {};
    });
    this.#serveSandbox("session_replay_chain", async (sandbox, { code, log }) => ({
      divergence: (await sandbox.replayChain(code, log)) ?? null,
    }));
    this.#serveSandbox("session_put_spilled", async (sandbox, { files }) => ({
      folder: await sandbox.putSpilled(files),
    }));
  }

  #serveFiles(): void {
    this.#serveFile("list_files");
    this.#serveFile("open_file");
    this.#serveFile("read_file");
    this.#serveFile("write_file");
    this.#serveFile("close_file");
  }

  /** The daemon's messages are the session's, with the session's id. */
  #serveFile<M extends FileMethod>(method: M): void {
    this.#serveSandbox(`session_${method}`, (sandbox, { session: _, ...order }, attachments) => {
      const answer = sandbox.askFiles(method, order as unknown as FileOrder<M>, attachments);
      return answer as unknown as Promise<Result<`session_${M}`>>;
    });
  }

  #serveSandbox<M extends SessionMethod>(
    method: M,
    respond: (
      sandbox: PythonSandbox,
      params: Params<M>,
      attachments: readonly Buffer[],
    ) => Promise<Result<M>>,
  ): void {
    this.#serve(method, (params, attachments) =>
      respond(this.#session(params.session).sandbox, params, attachments),
    );
  }

  #serve<M extends RequestMethod>(
    method: M,
    respond: (params: Params<M>, attachments: readonly Buffer[]) => Promise<Result<M>>,
  ): void {
    this.#peer.serve(method, async (params, attachments) => {
      if (!this.#isGreeted) {
        throw new CellarError(
          "PROTOCOL_ERROR",
          "the client's version does not match; call daemon_greet first",
        );
      }
      return await respond(params, attachments);
    });
  }

  async #create(order: Params<"session_create">): Promise<Result<"session_create">> {
    const name = newSessionId();
    const forwarder = new CallbackForwarder(this.#peer, name, order);
    const sandbox = await this.#control.create(order, forwarder.callbacks);
    return this.#addSession(name, { sandbox, forwarder, folders: new Set(), ownsForwarder: true });
  }

  async #addSession(
    name: string,
    parts: Omit<ClientSession, "cells">,
  ): Promise<Result<"session_create">> {
    const { sandbox } = parts;
    if (!this.#peer.isOpen) {
      await sandbox.destroy();
      throw new CellarError("SESSION_CLOSED", "the client is gone");
    }
    this.#sessions.set(name, { ...parts, cells: new Map() });
    const { isolation, python, reason, mode } = sandbox.info;
    return {
      session: name,
      info: {
        mode: mode === "zygote" ? mode : "plain",
        isolation: { level: isolation.level, missing: [...isolation.missing] },
        python: { ...python },
        reason,
      },
    };
  }

  async #initialize({
    session,
    context,
  }: Params<"session_initialize">): Promise<Result<"session_initialize">> {
    const owned = this.#session(session);
    const given = context.kind === "file" ? { file: context.path } : readValue(context.value);
    if (context.kind === "file" && context.temporary) owned.folders.add(dirname(context.path));
    await owned.sandbox.initialize(given);
    if (owned.ownsForwarder) owned.forwarder.given = given;
    return {};
  }

  async #execute(order: Params<"session_execute">): Promise<Result<"session_execute">> {
    const { sandbox, forwarder, cells } = this.#session(order.session);
    const controller = new AbortController();
    if (order.cancelled) controller.abort();
    cells.set(order.cell, controller);
    if (order.number !== undefined) sandbox.numberNext(order.number);
    try {
      const execution = await sandbox.execute(order.code, {
        timeout: order.timeout_ms,
        maxOutputLength: order.max_output,
        argv: order.argv,
        continues: order.continues,
        signal: controller.signal,
      });
      return packExecution(execution, (display) => forwarder.numberOf(display));
    } finally {
      cells.delete(order.cell);
      forwarder.flush();
    }
  }

  #session(session: string): ClientSession {
    const owned = this.#sessions.get(session);
    if (owned !== undefined) return owned;
    throw new CellarError("SESSION_CLOSED", "unknown session");
  }

  async #endSession(name: string, owned: ClientSession): Promise<void> {
    await owned.sandbox.destroy();
    this.#sessions.delete(name);
    const isShared = [...this.#sessions.values()].some(({ folders }) => folders === owned.folders);
    if (isShared) return;
    for (const folder of owned.folders) {
      if (SPOOL_FOLDER.test(basename(folder))) await rm(folder, { recursive: true, force: true });
    }
  }

  async #clear(): Promise<void> {
    const leaving = [...this.#sessions].map(([name, owned]) => this.#endSession(name, owned));
    await Promise.allSettled(leaving);
  }
}

function newSessionId(): string {
  return randomBytes(12).toString("hex");
}

function readValue(text: string): unknown {
  try {
    return decodeValue(JSON.parse(text));
  } catch (error) {
    throw new CellarError("INVALID_INPUT", "the value is not JSON", { cause: error });
  }
}
