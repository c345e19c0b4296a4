import { CellarError, counted } from "../../errors.js";
import type { Checkpoint } from "../backend.js";

/** More than a session can keep checkpoints of. */
const REMEMBERED_STEPS = 200;
/** Of those that no checkpoint holds, which a crash would take back. */
const REMEMBERED_UNSAVED_STEPS = 10_000;
/** A checkpoint is parked within milliseconds; a loaded machine may take longer. */
const PARKING_MS = 5_000;

/** The steps that led to a branch's present state, oldest first; step 0 is the empty start. */
export class StepHistory {
  #steps: Checkpoint[];
  /** The cells between the start and the next step, which are remembered by their numbers only. */
  #earlier: number[];
  #pruneAt = 2 * REMEMBERED_STEPS;
  readonly #parked = new Set<number>([0]);
  readonly #unparkable = new Set<number>();
  /** Steps that are taken again wherever the line begins anew. */
  readonly #repeated = new Set<number>();
  readonly #waiting = new Map<number, Set<() => void>>();
  /** The latest step that the host has given out. */
  #latest: number;

  constructor(start: Checkpoint = { id: 0, cell: 0 }, earlier: readonly number[] = []) {
    this.#latest = start.id;
    this.#earlier = [...earlier];
    this.#steps = start.id === 0 ? [start] : [{ id: 0, cell: 0 }, start];
  }

  get present(): Checkpoint {
    return this.#steps.at(-1) as Checkpoint;
  }

  /** Another line that goes on from the present state, which nothing holds there yet. */
  forked(): StepHistory {
    const { present } = this;
    return new StepHistory(
      present,
      this.#cells.filter((cell) => cell < present.cell),
    );
  }

  /** The cells that led here, oldest first. */
  get #cells(): readonly number[] {
    const cells = new Set([...this.#earlier, ...this.#steps.map(({ cell }) => cell)]);
    cells.delete(0);
    return [...cells];
  }

  /** The newest state that a checkpoint holds, as far as the host has been told. */
  get held(): Checkpoint {
    return this.#steps[this.#heldIndex()] as Checkpoint;
  }

  /** How many cells ran since. */
  get unsaved(): number {
    const index = this.#heldIndex();
    if (index === 0 && this.#earlier.length > 0) return this.#cells.length;
    return new Set(this.#steps.slice(index + 1).map(({ cell }) => cell)).size;
  }

  #heldIndex(): number {
    return Math.max(
      this.#steps.findLastIndex(({ id }) => this.#parked.has(id)),
      0,
    );
  }

  /** The states that can be gone back to, given which checkpoints are alive. */
  kept(alive: ReadonlySet<number>): readonly Checkpoint[] {
    return this.#steps.filter(({ id }) => id === 0 || alive.has(id));
  }

  add(step: Checkpoint, isRepeated = false): void {
    this.#steps.push(step);
    if (isRepeated) this.#repeated.add(step.id);
    if (this.#steps.length > this.#pruneAt) this.#prune();
  }

  /** Steps that no checkpoint can be left of are forgotten, but for the start. */
  #prune(): void {
    const unsaved = this.#steps.length - 1 - this.#heldIndex();
    const kept = Math.min(REMEMBERED_STEPS + unsaved, REMEMBERED_UNSAVED_STEPS);
    const forgotten = this.#steps.splice(1, this.#steps.length - 1 - kept);
    const cells = new Set([...this.#earlier, ...forgotten.map(({ cell }) => cell)]);
    cells.delete(0);
    this.#earlier = [...cells];
    this.#pruneAt = kept + REMEMBERED_STEPS;
    const oldest = this.#steps[1]?.id ?? 0;
    this.#forget((id) => id < oldest);
  }

  #forget(isGone: (id: number) => boolean): void {
    for (const steps of [this.#parked, this.#unparkable, this.#repeated]) {
      for (const id of steps) if (id !== 0 && isGone(id)) steps.delete(id);
    }
  }

  /** The state before the last `cells` cells; steps that were no cell go with the next one. */
  before(cells: number): Checkpoint | undefined {
    const wanted = this.#cellBefore(cells);
    return this.#steps.findLast(({ cell }) => cell === wanted);
  }

  /** The cell after which the line was there, 0 for the start. */
  #cellBefore(cells: number): number | undefined {
    return [0, ...this.#cells].at(-1 - cells);
  }

  undoing(cells: number, alive: ReadonlySet<number>): Checkpoint {
    const wanted = this.#cellBefore(cells);
    if (wanted === undefined) {
      throw new CellarError(
        "CHECKPOINT_GONE",
        `cannot undo ${counted(cells, "cell")}: only ${counted(this.#cells.length, "cell")} can be undone`,
      );
    }
    const target = this.before(cells);
    if (target !== undefined && (target.id === 0 || alive.has(target.id))) return target;
    throw new CellarError("CHECKPOINT_GONE", `the state after cell ${wanted} is no longer kept`, {
      remedy: "checkpoints() lists the states that are; keepCheckpoints keeps more.",
      details: { available: this.kept(alive) },
    });
  }

  /** Cuts the line after a restored step; gives what was lost. */
  cut(step: number): readonly Checkpoint[] {
    const index = this.#steps.findLastIndex(({ id }) => id === step);
    const kept = Math.max(index, 0) + 1;
    const earlier = kept === 1 ? this.#earlier.splice(0) : [];
    const later = this.#steps.splice(kept);
    const lost = kept === 1 ? later.filter(({ id }) => !this.#repeated.has(id)) : later;
    const { id: present } = this.present;
    this.#forget((id) => id > present);
    return [...earlier.map((cell) => ({ id: 0, cell })), ...lost];
  }

  /** The host asks for this step; each has a higher number than those before. */
  issue(step: number): void {
    this.#latest = Math.max(this.#latest, step);
  }

  unparkable(step: number): void {
    this.#unparkable.add(step);
  }

  /** Ignores steps that the host did not ask for. */
  parked(step: number): boolean {
    const oldest = this.#steps[1]?.id ?? 0;
    if (step > this.#latest || (step !== 0 && step < oldest)) return false;
    this.#parked.add(step);
    for (const wake of this.#waiting.get(step) ?? []) wake();
    this.#waiting.delete(step);
    return true;
  }

  async untilParked(step: number, milliseconds = PARKING_MS): Promise<boolean> {
    if (this.#parked.has(step)) return true;
    if (this.#unparkable.has(step)) return false;
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(step) ?? new Set();
      const timer = setTimeout(() => {
        waiting.delete(wake);
        if (waiting.size === 0) this.#waiting.delete(step);
        resolve(false);
      }, milliseconds);
      const wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
      this.#waiting.set(step, waiting.add(wake));
    });
  }
}
