import { CellarError, isCellarError } from "../../errors.js";
import type { Params, RequestMethod, Result } from "../../protocol/messages.js";
import type { FileMethod } from "../files/sandbox-files.js";
import type { BranchEvents, Session } from "./session.js";
import type { StepHistory } from "./step-history.js";

export type Death = Params<"died">;

type BackgroundListener = (output: Pick<Params<"output">, "text" | "stream">) => void;

type DeathListener = (death: Death) => void;

/** A head that was just put in place answers at once; a loaded machine may take longer. */
const PING_MS = 15_000;
/** After so many heads in a row that had to be ended unheard, the next one would be no better. */
const MAX_UNHEARD = 2;

export type Question =
  | "ping"
  | "get_variable"
  | "variables"
  | "complete"
  | "is_complete"
  | "get_agent_state"
  | "set_agent_state"
  | "replay_chain"
  | "put_spilled"
  | "initialize"
  | "context_part"
  | "load_context"
  | "configure"
  | "write_state"
  | "restore"
  | FileMethod;

export type CheckpointMethod = Pick<Result<"checkpoints">, "method" | "reason">;

export type CellListener = Omit<BranchEvents, "parked">;

/** One branch of a session: its present head, its steps, and the cell that runs. */
export class Branch implements BranchEvents {
  readonly session: Session;
  readonly number: number;
  readonly line: StepHistory;
  /** What the newest checkpoint could not keep. */
  lost: readonly string[] = [];
  #generation = 0;
  /** The generation that a question was put to. */
  #asked: number | undefined;
  /** The newest generation that was ended because it did not answer. */
  #brokenOff: number | undefined;
  #unheard = 0;
  /** Wait until another head has taken the place of a dead one. */
  #awaitingHead: (() => void)[] = [];
  #listener: { readonly step: number; readonly cell: CellListener } | undefined;
  readonly background: BackgroundListener;
  readonly #onHeadDied: DeathListener;

  constructor(
    session: Session,
    number: number,
    line: StepHistory,
    background: BackgroundListener,
    onHeadDied: DeathListener,
  ) {
    this.session = session;
    this.number = number;
    this.line = line;
    this.background = background;
    this.#onHeadDied = onHeadDied;
    session.watch(number, this);
  }

  get generation(): number {
    return this.#generation;
  }

  listen(step: number, cell: CellListener): Disposable {
    this.#listener = { step, cell };
    return {
      [Symbol.dispose]: () => {
        if (this.#listener?.step === step) this.#listener = undefined;
      },
    };
  }

  async ask<M extends RequestMethod>(
    method: M,
    params: Params<M>,
    attachments: readonly Uint8Array[] = [],
  ): Promise<Result<M>> {
    if ("step" in params) this.line.issue(params.step);
    const head = await this.session.head(this.number, this.#generation);
    return head.request(method, params, attachments);
  }

  /** Asks about the state. What hangs in user code costs the head, not the caller. */
  async question<M extends Question>(
    method: M,
    params: Params<M>,
    timeout: number,
    attachments: readonly Uint8Array[] = [],
  ): Promise<Result<M>> {
    const generation = this.#generation;
    this.#asked = generation;
    const timer = setTimeout(() => this.breakOff(), timeout);
    this.session.announceTimeout(timeout);
    try {
      return await this.ask(method, params, attachments);
    } catch (error) {
      if (!isCellarError(error, "SESSION_LOST") && !isCellarError(error, "PROTOCOL_ERROR")) {
        throw error;
      }
      await this.#replaceHead(generation);
      throw new CellarError(
        "SESSION_LOST",
        `the session's process ended before it answered ${method}`,
        {
          remedy: this.session.isAlive
            ? "A checkpoint was restored; the next result says what was lost."
            : "A new session replaces it; the next result says what was lost.",
          cause: error,
        },
      );
    } finally {
      clearTimeout(timer);
      this.#asked = undefined;
    }
  }

  /** Whether the head is seen to be there: init may have announced one that is dead by now. */
  async isThere(): Promise<boolean> {
    const generation = this.#generation;
    try {
      await this.question("ping", {}, PING_MS);
      this.#unheard = 0;
      return true;
    } catch {
      // Of the same checkpoint another would come each time, for ever.
      if (this.#brokenOff === generation) this.#unheard += 1;
      if (this.#unheard >= MAX_UNHEARD) this.session.markLost(unheard());
      return false;
    }
  }

  breakOff(): void {
    if (this.#asked === undefined) return;
    this.#brokenOff = this.#asked;
    this.session.kill(this.number, this.#asked);
  }

  /** Ends a head that no longer answers, dead or not, and waits until another is in its place. */
  async #replaceHead(generation: number): Promise<void> {
    const succession = new Promise<void>((resolve) => {
      if (this.#generation === generation) this.#awaitingHead.push(resolve);
      else resolve();
    });
    using _ = this.session.deadline("the end of its process");
    this.session.kill(this.number, generation);
    await Promise.race([succession, this.session.ended]);
  }

  /** The steps whose checkpoints are alive; waits that long for the newest. */
  async alive(milliseconds: number): Promise<ReadonlySet<number>> {
    const { present } = this.line;
    if (milliseconds > 0) await this.line.untilParked(present.id, milliseconds);
    const { checkpoints } = await this.session.askInit("checkpoints", { branch: this.number });
    return new Set(checkpoints.map(({ step }) => step));
  }

  /** How the checkpoints are made, as the last one was. */
  async checkpointMethod(): Promise<CheckpointMethod> {
    const { method, reason } = await this.session.askInit("checkpoints", { branch: this.number });
    return { method, reason };
  }

  async forkFrom(checkpoint: number, branch: number): Promise<void> {
    const order = { branch: this.number, checkpoint, new_branch: branch };
    const answer = await this.session.askInit("fork", order);
    if (!answer.done) throw new CellarError("CHECKPOINT_GONE", answer.reason);
  }

  /** Goes to a checkpoint: init ends the head and wakes the copy. */
  async rollback(checkpoint: number): Promise<void> {
    const answer = await this.session.askInit("rollback", { branch: this.number, checkpoint });
    if (answer.done) {
      this.#generation = answer.generation;
      this.line.cut(checkpoint);
      return;
    }
    if (answer.instead !== undefined) {
      this.#generation = answer.instead.generation;
      this.line.cut(answer.instead.restored);
    }
    throw new CellarError("CHECKPOINT_GONE", answer.reason);
  }

  output(event: Params<"output">): void {
    if (event.step !== null && event.step === this.#listener?.step) {
      this.#listener.cell.output(event);
    } else if (event.step === null) {
      this.background(event);
    }
  }

  async hostCall(call: Params<"host_call">): Promise<Result<"host_call">> {
    if (call.step === this.#listener?.step) return this.#listener.cell.hostCall(call);
    throw new CellarError(
      "UNSUPPORTED",
      `${call.name} can only be called while its cell is running`,
    );
  }

  display(event: Params<"display">, attachments: readonly Buffer[]): void {
    if (event.step === this.#listener?.step) this.#listener.cell.display(event, attachments);
  }

  clear(event: Params<"clear_output">): void {
    if (event.step === this.#listener?.step) this.#listener.cell.clear(event);
  }

  settled(event: Params<"settled">): void {
    if (event.step === this.#listener?.step) this.#listener.cell.settled(event);
  }

  parked(event: Params<"parked">): void {
    if (this.line.parked(event.step)) this.lost = event.lost;
  }

  died(death: Death): void {
    if (death.generation !== this.#generation) return;
    this.#generation = death.next_generation;
    for (const wake of this.#awaitingHead.splice(0)) wake();
    const listener = this.#listener;
    if (listener !== undefined) listener.cell.died(death);
    else this.#onHeadDied(death);
  }
}

function unheard(): CellarError {
  return new CellarError("SESSION_LOST", "no restored process of the session answers", {
    details: { reason: "unresponsive" },
  });
}
