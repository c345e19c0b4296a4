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

/** A point of the notebook's timeline, and the cell of the sandbox after which it was reached. */
interface Step {
  readonly sequence: number;
  readonly cell: number;
}

export interface Ran {
  readonly execution: CodeExecution;
  /** Whether the variables are now as this run left them. */
  readonly tookEffect: boolean;
  /** Earlier runs whose effects went with it. */
  readonly forgotten: readonly number[];
}

/** The Python of a notebook, and which part of the timeline its variables stand for. */
export class LiveSession implements AsyncDisposable {
  readonly sandbox: StatefulSandbox;
  #base: readonly number[];
  readonly #isRestored: boolean;
  #steps: Step[] = [];
  readonly #unsaved: Execution[] = [];
  #isLost = false;

  /** `base` is what a restored session began with. */
  constructor(sandbox: StatefulSandbox, base: readonly number[] = []) {
    this.sandbox = sandbox;
    this.#base = base;
    this.#isRestored = base.length > 0;
  }

  get info(): SandboxInfo {
    return this.sandbox.info;
  }

  /** Nothing of it is left, or less than a snapshot has: another one must take its place. */
  get isLost(): boolean {
    return this.#isLost;
  }

  abandon(): void {
    this.#isLost = true;
  }

  /** The executions whose effects the variables hold, in their order. */
  get held(): readonly number[] {
    if (this.#isLost) return [];
    return [...this.#base, ...this.#steps.map(({ sequence }) => sequence)];
  }

  /** The last of them; 0 for an empty session. */
  get present(): number {
    return this.held.at(-1) ?? 0;
  }

  /** Its effects may be in the variables, but the cell is not in the record. */
  noteUnsaved(run: Pick<Execution, "sequence" | "cell">): void {
    this.#unsaved.push({ ...run, isUnsaved: true });
  }

  /** Those of them that the variables hold. */
  get unsaved(): readonly Execution[] {
    const held = new Set(this.held);
    return this.#unsaved.filter(({ sequence }) => held.has(sequence));
  }

  async run(code: string, options: ExecuteOptions, sequence: number): Promise<Ran> {
    const before = this.held;
    // What a traceback calls the cell is what the notebook calls it.
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

  /** False where the state after that execution is not parked any more. */
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

  /** The points of the timeline whose checkpoints are alive. */
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

  /** Also tells which point of the timeline was captured; undefined for one that is unknown. */
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

  /** After an unusual end: finds out which state is there now. */
  async #orient({ number, duration, state }: CodeExecution, sequence: number): Promise<void> {
    const alive = await this.#checkpoints();
    // One that was cancelled before its turn has not taken any time.
    if (this.#isLost || duration === 0) return;
    const run = { sequence, cell: number };
    // Without checkpoints nothing is ever taken back.
    if (alive === undefined || state.checkpoint === null) {
      this.#steps.push(run);
      return;
    }
    const here = alive.find(({ id }) => id === state.checkpoint);
    // A restored checkpoint is there; one that is not is the run's own, still on its way.
    const isKept = here === undefined || here.cell === number;
    const ground = isKept ? alive.findLast(({ cell }) => cell < number) : here;
    if (!isKept || !state.survived) this.#cut(ground);
    if (isKept) this.#steps.push(run);
    else if (!this.#isReal(here)) this.#isLost = true;
  }

  /** What came after that checkpoint is not in the variables any more. */
  #cut(ground: Checkpoint | undefined): void {
    if (ground !== undefined && this.#isReal(ground)) {
      this.#steps = this.#steps.filter(({ cell }) => cell <= ground.cell);
    } else {
      this.#steps = [];
      this.#base = [];
    }
  }

  /** Undefined where the sandbox has none. Learns on the way when the session is gone. */
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

  /** The empty start of a session that was restored stands for nothing in the timeline. */
  readonly #isReal = ({ id }: Checkpoint) => id !== 0 || !this.#isRestored;
}
