import { closedError } from "../../backends/session/checks.js";
import { TaskQueue } from "../../concurrency/task-queue.js";
import { CellarError, isCellarError } from "../../errors.js";
import type { Notebook } from "../../notebook/notebook.js";

export type ChangeListener = (text: string) => void;

export interface OpenNotebooksPlan {
  /** `hear` is to be told what cells of the notebook print. */
  readonly open: (session: string, create: boolean, hear: ChangeListener) => Promise<Notebook>;
  readonly mostOpen: number;
  readonly idleMs: number;
}

export interface UseOptions {
  /** False to fail with `NOT_FOUND` instead of making a new one. Default: true. */
  readonly create?: boolean | undefined;
}

export interface TurnOptions extends UseOptions {
  readonly onText?: ChangeListener | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** An open notebook and those who are at it. */
interface OpenNotebook {
  readonly session: string;
  readonly notebook: Promise<Notebook>;
  /** Runs of cells, one after the other, so that it is known whose output is heard. */
  readonly turns: TaskQueue;
  users: number;
  lastUsed: number;
  patience: NodeJS.Timeout | undefined;
  controlThread: ChangeListener | undefined;
}

const TRIES = 10;

/** Notebooks that are opened when they are wanted, and closed when nobody is at them any more. */
export class OpenNotebooks implements AsyncDisposable {
  readonly #plan: OpenNotebooksPlan;
  readonly #seats = new Map<string, OpenNotebook>();
  readonly #leaving = new Map<string, Promise<void>>();
  #isClosed = false;

  constructor(plan: OpenNotebooksPlan) {
    this.#plan = plan;
  }

  get sessions(): readonly string[] {
    return [...this.#seats.keys()];
  }

  use<T>(
    session: string,
    work: (notebook: Notebook) => Promise<T>,
    { create = true }: UseOptions = {},
  ): Promise<T> {
    return this.#at(session, create, (_, notebook) => work(notebook));
  }

  /** As `use`, for work that runs a cell: its output is heard, and no other run comes between. */
  turn<T>(
    session: string,
    work: (notebook: Notebook) => Promise<T>,
    { create = true, onText, signal }: TurnOptions = {},
  ): Promise<T> {
    return this.#at(session, create, (seat, notebook) =>
      seat.turns.run(async () => {
        refuseAborted(signal);
        seat.controlThread = onText;
        try {
          return await work(notebook);
        } finally {
          seat.controlThread = undefined;
        }
      }),
    );
  }

  /** The notebook if it is open now; it is not kept open for the caller. */
  async peek(session: string): Promise<Notebook | undefined> {
    return await this.#seats.get(session)?.notebook.catch(() => undefined);
  }

  /** Closes it, unless somebody is at it. */
  async release(session: string): Promise<void> {
    const seat = this.#seats.get(session);
    if (seat !== undefined && seat.users > 0) {
      throw new CellarError("LOCKED", `the notebook ${session} is in use`, {
        remedy: "Wait until its cells are over, or cancel them, then try again.",
      });
    }
    if (seat !== undefined) this.#dismiss(seat);
    await this.#leaving.get(session);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const seat of [...this.#seats.values()]) this.#dismiss(seat);
    await Promise.all(this.#leaving.values());
  }

  async #at<T>(
    session: string,
    create: boolean,
    work: (seat: OpenNotebook, notebook: Notebook) => Promise<T>,
  ): Promise<T> {
    const { seat, notebook } = await this.#take(session, create);
    try {
      return await work(seat, notebook);
    } catch (error) {
      await this.#suspect(seat, notebook, error);
      throw error;
    } finally {
      this.#leave(seat);
    }
  }

  async #take(
    session: string,
    create: boolean,
  ): Promise<{ seat: OpenNotebook; notebook: Notebook }> {
    for (let tries = 1; ; tries++) {
      await this.#leaving.get(session);
      if (this.#isClosed) throw deskClosed();
      const known = this.#seats.get(session);
      const seat = known ?? this.#open(session, create);
      seat.users += 1;
      clearTimeout(seat.patience);
      try {
        return { seat, notebook: await seat.notebook };
      } catch (error) {
        seat.users -= 1;
        // Who opened it wanted none to be made.
        const isAnothers = known !== undefined && create && isCellarError(error, "NOT_FOUND");
        if (!isAnothers || tries >= TRIES) throw error;
      }
    }
  }

  #open(session: string, create: boolean): OpenNotebook {
    this.#makePlace();
    const notebook = this.#plan.open(session, create, (text) => seat.controlThread?.(text));
    const seat: OpenNotebook = {
      session,
      notebook,
      turns: new TaskQueue(),
      users: 0,
      lastUsed: performance.now(),
      patience: undefined,
      controlThread: undefined,
    };
    this.#seats.set(session, seat);
    notebook.catch(() => this.#forget(seat));
    return seat;
  }

  /** The one that was used longest ago lets go; never one that is in use. */
  #makePlace(): void {
    const { mostOpen } = this.#plan;
    if (this.#seats.size < mostOpen) return;
    const idle = [...this.#seats.values()].filter(({ users }) => users === 0);
    const [oldest] = idle.sort((one, other) => one.lastUsed - other.lastUsed);
    if (oldest === undefined) {
      throw new CellarError("LIMIT_REACHED", `${mostOpen} notebooks are at work, the most`, {
        remedy: "Wait until a cell of another notebook is over, then try again.",
        details: { mostOpen },
      });
    }
    this.#dismiss(oldest);
  }

  #leave(seat: OpenNotebook): void {
    seat.users -= 1;
    seat.lastUsed = performance.now();
    if (seat.users > 0 || this.#seats.get(seat.session) !== seat) return;
    seat.patience = setTimeout(() => this.#dismiss(seat), this.#plan.idleMs);
    seat.patience.unref();
  }

  #forget(seat: OpenNotebook): void {
    clearTimeout(seat.patience);
    if (this.#seats.get(seat.session) === seat) this.#seats.delete(seat.session);
  }

  /** What could not be saved at the end is told by the notebook when it is opened again. */
  #dismiss(seat: OpenNotebook): void {
    this.#forget(seat);
    const { session } = seat;
    const leaving = seat.notebook
      .then((notebook) => notebook.close())
      .catch(() => {})
      .finally(() => {
        this.#leaving.delete(session);
      });
    this.#leaving.set(session, leaving);
  }

  /** One that was taken over or closed elsewhere is of no use any more: the next call opens it anew. */
  async #suspect(seat: OpenNotebook, notebook: Notebook, error: unknown): Promise<void> {
    if (!isCellarError(error, "CONFLICT") && !isCellarError(error, "SESSION_CLOSED")) return;
    const isUsable = await isOpen(notebook);
    if (!isUsable && this.#seats.get(seat.session) === seat) this.#dismiss(seat);
  }
}

/** Asks what a closed notebook refuses at once, and an open one answers in its turn. */
async function isOpen(notebook: Notebook): Promise<boolean> {
  const refusal = notebook.checkpoints().then(
    () => true,
    () => false,
  );
  const soon = new Promise<boolean>((resolve) => setImmediate(resolve, true));
  return await Promise.race([refusal, soon]);
}

function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new CellarError("ABORTED", "the call was cancelled before its turn", {
    cause: signal.reason,
  });
}

function deskClosed(): CellarError {
  return closedError("the desk was closed", "Open another one.");
}
