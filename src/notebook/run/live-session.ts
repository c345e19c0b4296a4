import type {
  Checkpoint,
  CodeExecution,
  ExecuteOptions,
  SandboxInfo,
} from "../../backends/backend.js";
import type {
  Captured,
  CaptureOptions,
  OpenSink,
  StatefulSandbox,
} from "../../backends/stateful-sandbox.js";
import { isCellarError } from "../../errors.js";
import type { Execution } from "../document/timeline.js";

/** A run of the notebook and its cell number in the sandbox. */
interface Step {
  readonly sequence: number;
  readonly cell: number;
}

export interface Ran {
  readonly execution: CodeExecution;
  readonly tookEffect: boolean;
  /** Earlier runs whose effects were lost with it. */
  readonly forgotten: readonly number[];
}

/** The Python session of a notebook, and which runs its variables hold. */
export class LiveSession implements AsyncDisposable {
  readonly sandbox: StatefulSandbox;
  #base: readonly number[];
  readonly #isRestored: boolean;
  #steps: Step[] = [];
  readonly #unsaved: Execution[] = [];
  #isLost = false;

  /** `base` are the runs that a restored snapshot holds. */
  constructor(sandbox: StatefulSandbox, base: readonly number[] = []) {
    this.sandbox = sandbox;
    this.#base = base;
    this.#isRestored = base.length > 0;
  }

  get info(): SandboxInfo {
    return this.sandbox.info;
  }

  /** It ended, or holds less than a snapshot, and must be replaced. */
  get isLost(): boolean {
    return this.#isLost;
  }

  abandon(): void {
    this.#isLost = true;
  }

  /** The runs whose effects the variables hold, in order. */
  get held(): readonly number[] {
    if (this.#isLost) return [];
    return [...this.#base, ...this.#steps.map(({ sequence }) => sequence)];
  }

  /** The last of these; 0 for an empty session. */
  get present(): number {
    return this.held.at(-1) ?? 0;
  }

  noteUnsaved(run: Pick<Execution, "sequence" | "cell">): void {
    this.#unsaved.push({ ...run, isUnsaved: true });
  }

  get unsaved(): readonly Execution[] {
    const held = new Set(this.held);
    return this.#unsaved.filter(({ sequence }) => held.has(sequence));
  }

  async run(code: string, options: ExecuteOptions, sequence: number): Promise<Ran> {
    const before = this.held;
    // Tracebacks use the notebook's numbers.
    this.sandbox.numberNext(sequence);
    const execution = await this.sandbox.execute(code, options);
    const { number, status, state } = execution;
    const isUsual = state.survived && (status === "ok" || status === "error");
    if (isUsual) this.#steps.push({ sequence, cell: number });
    else await this.#orient(execution, sequence);
    const held = new Set(this.held);
    return {
      execution,
      tookEffect: this.#steps.at(-1)?.sequence === sequence,
      forgotten: before.filter((one) => !held.has(one)),
    };
  }

  /** False where that checkpoint does not exist any more. */
  async undoTo(sequence: number): Promise<boolean> {
    const index = this.#steps.findIndex((step) => step.sequence > sequence);
    if (this.#isLost || index < 0 || sequence < this.#baseSequence) return false;
    const kept = this.#steps.slice(0, index);
    if ((kept.at(-1)?.sequence ?? this.#baseSequence) !== sequence) return false;
    try {
      await this.sandbox.undo(this.#steps.length - index);
    } catch (error) {
      if (isCellarError(error, "SESSION_LOST")) this.#isLost = true;
      else if (!isCellarError(error, "CHECKPOINT_GONE") && !isCellarError(error, "UNSUPPORTED")) {
        throw error;
      }
      return false;
    }
    this.#steps = kept;
    return true;
  }

  /** The runs that can be undone to. */
  async reachable(): Promise<readonly number[]> {
    if (this.#isLost) return [];
    const alive = await this.#checkpoints();
    const cells = new Set((alive ?? []).filter(this.#isReal).map(({ cell }) => cell));
    const start = cells.has(0) ? [this.#baseSequence] : [];
    return [
      ...start,
      ...this.#steps.filter(({ cell }) => cells.has(cell)).map((one) => one.sequence),
    ];
  }

  /** `sequence` is the run that was captured, undefined where it is unknown. */
  async capture(
    open: OpenSink,
    options: CaptureOptions,
  ): Promise<Captured & { readonly sequence: number | undefined }> {
    const steps = this.#steps;
    const captured = await this.sandbox.capture(open, options);
    const known = [...this.#steps, ...steps].find(({ cell }) => cell === captured.cell);
    const sequence = captured.cell === 0 ? this.#baseSequence : known?.sequence;
    return { ...captured, sequence };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sandbox.destroy();
  }

  get #baseSequence(): number {
    return this.#base.at(-1) ?? 0;
  }

  /** After an unusual end: finds out which state the session is in. */
  async #orient({ number, duration, state }: CodeExecution, sequence: number): Promise<void> {
    const alive = await this.#checkpoints();
    // A cell that was cancelled before its turn took no time.
    if (this.#isLost || duration === 0) return;
    const run = { sequence, cell: number };
    if (alive === undefined || state.checkpoint === null) {
      this.#steps.push(run);
      return;
    }
    const here = alive.find(({ id }) => id === state.checkpoint);
    // A restored checkpoint exists; a missing one is that of this run, still being made.
    const isKept = here === undefined || here.cell === number;
    const ground = isKept ? alive.findLast(({ cell }) => cell < number) : here;
    if (!isKept || !state.survived) this.#cut(ground);
    if (isKept) this.#steps.push(run);
    else if (!this.#isReal(here)) this.#isLost = true;
  }

  /** Drops the runs after a checkpoint. */
  #cut(ground: Checkpoint | undefined): void {
    if (ground !== undefined && this.#isReal(ground)) {
      this.#steps = this.#steps.filter(({ cell }) => cell <= ground.cell);
    } else {
      this.#steps = [];
      this.#base = [];
    }
  }

  /** Undefined where there are none, or the session has ended. */
  async #checkpoints() {
    try {
      return await this.sandbox.checkpoints();
    } catch (error) {
      if (isCellarError(error, "UNSUPPORTED")) return undefined;
      if (!isCellarError(error, "SESSION_LOST")) throw error;
      this.#isLost = true;
      return undefined;
    }
  }

  /** The empty start of a restored session is not part of the timeline. */
  readonly #isReal = ({ id }: Checkpoint) => id !== 0 || !this.#isRestored;
}
