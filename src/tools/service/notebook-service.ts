import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { Isolation, REPLConfig } from "../../backends/backend.js";
import { splitConfig } from "../../backends/options.js";
import { sharedRuntime } from "../../backends/shared.js";
import type { StatefulRuntime } from "../../backends/stateful-sandbox.js";
import { Semaphore } from "../../concurrency/semaphore.js";
import { settingLayers } from "../../config/environment.js";
import { invalidOptions } from "../../config/problems.js";
import { type IsolationLevel, resolveSettings, type Settings } from "../../config.js";
import { CellarError, describeError } from "../../errors.js";
import { claimOf } from "../../isolation/levels.js";
import { needingPython } from "../../isolation/python-needed.js";
import type { NotebookSummary } from "../../notebook/document/list.js";
import { NotebookView } from "../../notebook/document/view.js";
import type { NotebookContent } from "../../notebook/interchange/notebook-content.js";
import { Notebook } from "../../notebook/notebook.js";
import { placeOf } from "../../notebook/options.js";
import { removeSessionDir, sessionDirsIn } from "../../notebook/run/session-files.js";
import type { NotebookState } from "../../notebook/state.js";
import { checkId, checkName } from "../../notebook/store/names.js";
import type { NotebookStore } from "../../notebook/store/store.js";
import { type ReadResource, readAddress } from "../resource-reading.js";
import { OpenNotebooks, type UseOptions } from "./open-notebooks.js";

export interface NotebookServiceOptions {
  /** A folder for the notebooks of all users. */
  readonly dir: string;
  /** The owner; no call reaches the notebooks of another user. */
  readonly user: string;
  /** Limits, network and folders of every notebook; a model cannot change them. */
  readonly config?: Omit<REPLConfig, "backend"> | undefined;
  /** Characters of one output in an answer; the whole stays readable. Default: 8000. */
  readonly outputCap?: number | undefined;
  /** Most notebooks open at the same time. Default: 8. */
  readonly mostOpen?: number | undefined;
  /** Milliseconds after which an unused notebook is closed. Default: 15 minutes. */
  readonly idleMs?: number | undefined;
  readonly runtime?: StatefulRuntime | undefined;
}

export interface ServiceIsolation extends Isolation {
  /** What the level guarantees, in one sentence. */
  readonly claim: string;
}

export interface NotebookChange {
  readonly session: string;
  readonly kind: "cells" | "files" | "list";
}

export type ChangeListener = (change: NotebookChange) => void;

/** Enough for a cell that prints 5 MB to be kept as a whole. */
const KEPT_CHARACTERS = 10_000_000;

/** Whole files in memory at the same time. */
const MOST_FILES_READ = 2;

export interface OpenedFile {
  readonly bytes: Buffer;
  readonly isolation: IsolationLevel;
}

const ownSchema = z.object({
  outputCap: z.int().min(500).max(1_000_000).default(8_000),
  mostOpen: z.int().min(1).max(1_000).default(8),
  idleMs: z
    .int()
    .positive()
    .max(2 ** 31 - 1)
    .default(900_000),
});

const OWN_NAMES = ["dir", "user", "session", "only", ...Object.keys(ownSchema.shape), "runtime"];

interface Foundation extends z.infer<typeof ownSchema> {
  readonly dir: string;
  readonly user: string;
  readonly config: Omit<REPLConfig, "backend">;
  readonly settings: Settings;
  readonly store: NotebookStore;
  readonly runtime: StatefulRuntime;
  readonly isolation: ServiceIsolation;
}

/** The notebooks of one user, opened on demand. */
export class NotebookService implements AsyncDisposable {
  readonly user: string;
  readonly isolation: ServiceIsolation;
  /** Characters that an answer shows of one output. */
  readonly outputCap: number;
  readonly settings: Settings;
  readonly #dir: string;
  readonly #store: NotebookStore;
  readonly #open: OpenNotebooks;
  readonly #listeners = new Set<ChangeListener>();
  readonly #fileReads = new Semaphore(MOST_FILES_READ);
  /** The notebook of calls without a session. */
  #own: string | undefined;

  private constructor(foundation: Foundation) {
    const { dir, user, config, runtime, mostOpen, idleMs } = foundation;
    this.user = user;
    this.isolation = foundation.isolation;
    this.outputCap = foundation.outputCap;
    this.settings = foundation.settings;
    this.#dir = dir;
    this.#store = foundation.store;
    const open = async (session: string, create: boolean) => {
      const notebook = await Notebook.open({ ...config, dir, user, session, create, runtime });
      if (notebook.info.epoch === 1) this.tell({ session, kind: "list" });
      return notebook;
    };
    this.#open = new OpenNotebooks({ open, mostOpen, idleMs });
  }

  /** Probes the isolation before anything runs. */
  static async open(options: NotebookServiceOptions): Promise<NotebookService> {
    const own = ownSchema.safeParse(options);
    if (!own.success) {
      const judged = { input: options, known: OWN_NAMES };
      throw invalidOptions("invalid options of the notebooks", own.error.issues, judged);
    }
    const { dir, store } = placeOf({ dir: options.dir });
    const user = checkName("user", options.user);
    const config = keepingOutput(options.config ?? {});
    const { options: given } = splitConfig(config);
    const settings = resolveSettings(given, undefined, undefined, OWN_NAMES);
    const runtime = options.runtime ?? (await sharedRuntime());
    const { level, missing } = await probe(runtime, config, settings, dir);
    const isolation = { level, missing, claim: claimOf(level) };
    const place = { dir, store, user };
    return new NotebookService({ ...own.data, ...place, config, settings, runtime, isolation });
  }

  newName(): string {
    return `nb-${randomBytes(5).toString("hex")}`;
  }

  /** The session of a call that may create its notebook: by default that of this connection. */
  sessionToUse(named: string | undefined): string {
    if (named !== undefined) return named;
    this.#own ??= this.newName();
    return this.#own;
  }

  /** The session of a call that needs an existing notebook. */
  sessionToFind(named: string | undefined): string {
    const session = named ?? this.#own;
    if (session !== undefined) return session;
    throw new CellarError(
      "NOT_FOUND",
      "no session was given, and this connection has no notebook yet",
      {
        remedy: "Pass a session; list_notebooks shows which there are. execute_cell creates one.",
      },
    );
  }

  /** The name for a new notebook: by default that of this connection, if it has none yet. */
  sessionToMake(named: string | undefined): string {
    return named ?? (this.#own === undefined ? this.sessionToUse(undefined) : this.newName());
  }

  /** Other open notebooks whose saved variables have this name. */
  async sessionsWith(variable: string, except: string): Promise<readonly string[]> {
    const found: string[] = [];
    for (const session of this.#open.sessions.filter((one) => one !== except)) {
      const manifest = (await this.#open.peek(session))?.state.snapshot?.manifest;
      if (manifest?.variables.some(({ name }) => name === variable)) found.push(session);
    }
    return found;
  }

  async remove(session: string): Promise<void> {
    const id = checkId({ user: this.user, session });
    await this.#open.release(id.session);
    await Notebook.remove({ dir: this.#dir, ...id });
    if (this.#own === id.session) this.#own = undefined;
    this.tell({ session: id.session, kind: "list" });
  }

  /** Keeps the notebook open during the work. */
  async use<T>(
    session: string,
    work: (notebook: Notebook) => Promise<T>,
    options?: UseOptions,
  ): Promise<T> {
    return await this.#open.use(checkName("session", session), work, options);
  }

  /** Works on a notebook that must exist, by default that of this connection. */
  async useExisting<T>(
    named: string | undefined,
    work: (notebook: Notebook) => Promise<T>,
  ): Promise<{ session: string; isolation: IsolationLevel; result: T }> {
    const session = this.sessionToFind(named);
    return await this.use(
      session,
      async (notebook) => {
        const result = await work(notebook);
        return { session, isolation: notebook.info.isolation.level, result };
      },
      { create: false },
    );
  }

  /** Reads a whole file; `look` should reduce it. */
  async readFile<T>(
    session: string,
    { path, maxBytes }: { readonly path: string; readonly maxBytes: number },
    look: (file: OpenedFile) => T,
  ): Promise<T> {
    const read = async (notebook: Notebook) => {
      const bytes = await notebook.getFile(path, { maxBytes });
      return look({ bytes, isolation: notebook.info.isolation.level });
    };
    return await this.use(session, (notebook) => this.#fileReads.run(() => read(notebook)), {
      create: false,
    });
  }

  /** Reads a notebook that is not open without starting Python. */
  async content(session: string): Promise<NotebookContent> {
    const id = checkId({ user: this.user, session });
    const notebook = await this.#open.peek(id.session);
    if (notebook === undefined) return await NotebookView.read(this.#store, id);
    const { cells, info } = notebook;
    const resource = (uri: string) => notebook.resource(uri);
    const title = `${id.user}/${id.session}`;
    return { cells, resource, python: info.python.version, title };
  }

  /** Undefined where the notebook is not open. */
  async stateOf(session: string): Promise<NotebookState | undefined> {
    return (await this.#open.peek(checkName("session", session)))?.state;
  }

  async has(session: string): Promise<boolean> {
    const id = checkId({ user: this.user, session });
    return (await this.#store.heads.get(id)) !== undefined;
  }

  list(): Promise<readonly NotebookSummary[]> {
    return Notebook.list({ dir: this.#dir, user: this.user });
  }

  /** Cells, outputs and files, by the URIs that tools return. */
  readResource(uri: string): Promise<ReadResource> {
    return readAddress(this, uri);
  }

  /** Reports changes made through this service; call the result to stop. */
  listen(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A listener that throws must not fail a finished call. */
  tell(change: NotebookChange): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(change);
      } catch (error) {
        const problem = `a listener of the notebook service failed: ${describeError(error)}`;
        process.emitWarning(problem, { type: "CellarWarning" });
      }
    }
  }

  /** Cancels running cells and waits until all is saved. An unnamed, empty notebook is deleted. */
  async close(): Promise<void> {
    const own = this.#own;
    this.#own = undefined;
    const isEmpty = own !== undefined && (await this.#isEmpty(own));
    await this.#open[Symbol.asyncDispose]();
    if (isEmpty) await this.remove(own).catch(() => {});
  }

  async #isEmpty(session: string): Promise<boolean> {
    const notebook = await this.#open.peek(session);
    if (notebook === undefined || notebook.cells.length > 0) return false;
    return await notebook.files().then(
      ({ files }) => files.length === 0,
      () => false,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function keepingOutput(config: Omit<REPLConfig, "backend">): Omit<REPLConfig, "backend"> {
  const isSet = "maxOutputLength" in config || "maxOutputLength" in settingLayers();
  return isSet ? config : { ...config, maxOutputLength: KEPT_CHARACTERS };
}

/** Starts a session of the kind that notebooks have; the next ones come from the same zygote. */
async function probe(
  runtime: StatefulRuntime,
  config: Omit<REPLConfig, "backend">,
  { network }: Settings,
  dir: string,
): Promise<Isolation> {
  const name = `probe-${randomBytes(12).toString("hex")}`;
  const sessionDir = { root: sessionDirsIn(dir), name, hasEgress: false };
  const isListed = typeof network === "object";
  // An allow-list needs a notebook's proxy; the isolation is that of `none`.
  const probed: REPLConfig = {
    ...config,
    backend: "native",
    ...(isListed && { network: "none" as const }),
  };
  try {
    await runtime.prepareDir(probed, sessionDir);
    const started = runtime.createSandbox(
      probed,
      "notebooks need CPython in a sandbox",
      sessionDir,
    );
    await using sandbox = await needingPython("Notebooks need", started);
    return sandbox.info.isolation;
  } finally {
    await removeSessionDir(sessionDir);
  }
}
