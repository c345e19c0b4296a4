import { closedError } from "../../backends/session/checks.js";
import { CellarError, isCellarError } from "../../errors.js";
import type { Notebook } from "../../notebook/notebook.js";

export interface OpenNotebooksPlan {
  readonly open: (session: string, create: boolean) => Promise<Notebook>;
  readonly mostOpen: number;
  readonly idleMs: number;
}

export interface UseOptions {
  /** False to fail with `NOT_FOUND` instead of creating a new one. Default: true. */
  readonly create?: boolean | undefined;
}

interface OpenNotebook {
  readonly session: string;
  readonly notebook: Promise<Notebook>;
  /** Calls that work on it now. */
  users: number;
  lastUsed: number;
  idleTimer: NodeJS.Timeout | undefined;
}

const TRIES = 10;

/** Notebooks that are opened on demand, and closed when idle. */
export class OpenNotebooks implements AsyncDisposable {
  readonly #plan: OpenNotebooksPlan;
  readonly #entries = new Map<string, OpenNotebook>();
  readonly #closing = new Map<string, Promise<void>>();
  #isClosed = false;

  constructor(plan: OpenNotebooksPlan) {
    this.#plan = plan;
  }

  get sessions(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /** Keeps the notebook open during the work. */
  async use<T>(
    session: string,
    work: (notebook: Notebook) => Promise<T>,
    { create = true }: UseOptions = {},
  ): Promise<T> {
    const { entry, notebook } = await this.#take(session, create);
    try {
      return await work(notebook);
    } catch (error) {
      await this.#closeIfUnusable(entry, notebook, error);
      throw error;
    } finally {
      this.#leave(entry);
    }
  }

  /** The notebook if it is open now; it is not kept open for the caller. */
  async peek(session: string): Promise<Notebook | undefined> {
    return await this.#entries.get(session)?.notebook.catch(() => undefined);
  }

  /** Closes it; fails while a call works on it. */
  async release(session: string): Promise<void> {
    const entry = this.#entries.get(session);
    if (entry !== undefined && entry.users > 0) {
      throw new CellarError("LOCKED", `the notebook ${session} is in use`, {
        remedy: "Wait until its cells have finished, or cancel them, then try again.",
      });
    }
    if (entry !== undefined) this.#close(entry);
    await this.#closing.get(session);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const entry of [...this.#entries.values()]) this.#close(entry);
    await Promise.all(this.#closing.values());
  }

  async #take(
    session: string,
    create: boolean,
  ): Promise<{ entry: OpenNotebook; notebook: Notebook }> {
    for (let tries = 1; ; tries++) {
      await this.#closing.get(session);
      if (this.#isClosed) throw serviceClosed();
      const known = this.#entries.get(session);
      const entry = known ?? this.#open(session, create);
      entry.users += 1;
      clearTimeout(entry.idleTimer);
      try {
        return { entry, notebook: await entry.notebook };
      } catch (error) {
        entry.users -= 1;
        // The call that opened it did not want one created; this one does.
        const isCreatable = known !== undefined && create && isCellarError(error, "NOT_FOUND");
        if (!isCreatable || tries >= TRIES) throw error;
      }
    }
  }

  #open(session: string, create: boolean): OpenNotebook {
    this.#evictIdle();
    const notebook = this.#plan.open(session, create);
    const entry: OpenNotebook = {
      session,
      notebook,
      users: 0,
      lastUsed: performance.now(),
      idleTimer: undefined,
    };
    this.#entries.set(session, entry);
    notebook.catch(() => this.#forget(entry));
    return entry;
  }

  /** Closes the least recently used one, never one that is in use. */
  #evictIdle(): void {
    const { mostOpen } = this.#plan;
    if (this.#entries.size < mostOpen) return;
    const idle = [...this.#entries.values()].filter(({ users }) => users === 0);
    const [oldest] = idle.sort((one, other) => one.lastUsed - other.lastUsed);
    if (oldest === undefined) {
      throw new CellarError("LIMIT_REACHED", `${mostOpen} notebooks are in use, the maximum`, {
        remedy: "Wait until a cell of another notebook has finished, then try again.",
        details: { mostOpen },
      });
    }
    this.#close(oldest);
  }

  #leave(entry: OpenNotebook): void {
    entry.users -= 1;
    entry.lastUsed = performance.now();
    if (entry.users > 0 || this.#entries.get(entry.session) !== entry) return;
    entry.idleTimer = setTimeout(() => this.#close(entry), this.#plan.idleMs);
    entry.idleTimer.unref();
  }

  #forget(entry: OpenNotebook): void {
    clearTimeout(entry.idleTimer);
    if (this.#entries.get(entry.session) === entry) this.#entries.delete(entry.session);
  }

  /** A failure to save is reported when the notebook is opened again. */
  #close(entry: OpenNotebook): void {
    this.#forget(entry);
    const { session } = entry;
    const leaving = entry.notebook
      .then((notebook) => notebook.close())
      .catch(() => {})
      .finally(() => {
        this.#closing.delete(session);
      });
    this.#closing.set(session, leaving);
  }

  /** Lets the next call open a notebook anew that was taken over or closed elsewhere. */
  async #closeIfUnusable(entry: OpenNotebook, notebook: Notebook, error: unknown): Promise<void> {
    if (!isCellarError(error, "CONFLICT") && !isCellarError(error, "SESSION_CLOSED")) return;
    const isUsable = await isOpen(notebook);
    if (!isUsable && this.#entries.get(entry.session) === entry) this.#close(entry);
  }
}

/** A closed notebook refuses this at once; an open one answers in its turn. */
async function isOpen(notebook: Notebook): Promise<boolean> {
  const refusal = notebook.checkpoints().then(
    () => true,
    () => false,
  );
  const soon = new Promise<boolean>((resolve) => setImmediate(resolve, true));
  return await Promise.race([refusal, soon]);
}

function serviceClosed(): CellarError {
  return closedError("the notebook service was closed", "Open another one.");
}
