import type { Checkpoint, CodeExecution } from "../../../src/index.js";
import { restoredCell, Wrong } from "./line.js";

/** A cell that has answered. Those that only look have no token. */
interface DoneCell {
  readonly number: number;
  readonly token: number | undefined;
  /** Milliseconds between its first and last statement: less than what the runner measures. */
  readonly inside: number;
  /** Milliseconds that its result says: more, with its way from the host and back. */
  readonly outside: number;
  /** The newest checkpoint, as its result told it. */
  readonly held: number | null;
}

export interface Loss {
  readonly interval: number;
  readonly cells: number;
  readonly inside: number;
  readonly outside: number;
  /** Of the last cell that was lost, if none had begun after it: its checkpoint was about to be made. */
  readonly last: number;
  /** Its result had told that a checkpoint holds it. */
  readonly isToldHeld: boolean;
}

/** What the results of a burst promise, and what was there afterwards. */
export class BurstModel {
  readonly untrue: string[] = [];
  readonly tooMuch: string[] = [];
  readonly losses: Loss[] = [];
  readonly trail: string[] = [];
  readonly #interval: number;
  readonly #isDeaf: boolean;
  #line: DoneCell[] = [];
  /** Lost by the last kill, as it was told. */
  #lost: DoneCell[] = [];
  /** The number up to which nothing may be lost. */
  #settled = 0;

  /** One that is deaf does not hear of the last cell that was lost. */
  constructor(interval: number, isDeaf: boolean) {
    this.#interval = interval;
    this.#isDeaf = isDeaf;
  }

  note(text: string): void {
    this.trail.push(text);
  }

  /** A result of the burst. */
  heard(token: number, run: CodeExecution): void {
    if (run.status === "ok") this.completed(token, run);
    else this.noted(run, token);
  }

  completed(token: number, run: CodeExecution): void {
    this.noted(run, token, Number(run.stdout));
  }

  /** A result of any cell: takes over what it says about those before, and checks it. */
  noted(run: CodeExecution, token?: number, inside = 0): void {
    const { number, status, state, duration } = run;
    const told = JSON.stringify(state);
    this.trail.push(`${number} ${token ?? "look"} ${status} ${inside.toFixed(1)} ms ${told}`);
    if (!state.survived) this.#lose(run);
    const { checkpoint: held, unsaved = 0 } = state;
    const isDone = status === "ok" || (status === "crashed" && held === number);
    if (!isDone && status !== "crashed") throw new Wrong(`cell ${number} ended as ${status}`);
    if (isDone) this.#line.push({ number, token, inside, outside: duration, held });
    if (held === null) throw new Wrong(`cell ${number} has no checkpoint: ${state.reason}`);
    const behind = this.#line.filter((cell) => cell.number > held).length;
    if (behind !== unsaved) {
      this.untrue.push(`cell ${number}: ${behind} cells after checkpoint ${held}, told ${unsaved}`);
    }
  }

  /** These have been seen. */
  settled(kept: readonly Checkpoint[]): void {
    this.#settled = kept.at(-1)?.cell ?? 0;
  }

  #lose({ state }: CodeExecution): void {
    const { reason, lostCells = [] } = state;
    const restored = restoredCell(reason);
    if (restored === undefined) throw new Wrong(`the state is lost: ${reason}`);
    const told = this.#isDeaf ? lostCells.slice(0, -1) : lostCells;
    if (numbersIn(reason ?? "").join() !== lostCells.join()) {
      this.untrue.push(`${lostCells.join()} are lost, but the reason is: ${reason}`);
    }
    const lost = this.#line.filter(({ number }) => told.includes(number));
    if (lost.length !== told.length) this.untrue.push(`lost cells that never were: ${reason}`);
    this.#lost.push(...lost);
    this.#line = this.#line.filter((cell) => !lost.includes(cell));
  }

  /** After a kill: `log` is what the variables hold, `begun` the tokens of all cells that ever began. */
  verify(log: readonly number[], begun: readonly number[]): void {
    const wanted = this.#line.flatMap(({ token }) => token || []);
    if (wanted.join() !== log.join()) {
      this.untrue.push(`the variables hold ${log.join(" ")}, told was ${wanted.join(" ")}`);
    }
    const lost = this.#lost.splice(0);
    const settled = this.#settled;
    this.#settled = 0;
    if (lost.length === 0) return;
    if (lost.some(({ number }) => number <= settled)) {
      this.untrue.push("lost although its checkpoint was listed");
    }
    this.#weigh(lost, begun);
  }

  #weigh(lost: readonly DoneCell[], begun: readonly number[]): void {
    const last = lost.at(-1) as DoneCell;
    // What only looks writes no token, and may be the one that was lost last.
    const isFollowed = last.token === undefined || begun.at(-1) !== last.token;
    const sum = (part: "inside" | "outside") => lost.reduce((total, cell) => total + cell[part], 0);
    const excused = isFollowed ? 0 : last.inside;
    const loss = {
      interval: this.#interval,
      cells: lost.length,
      inside: sum("inside"),
      outside: sum("outside"),
      last: excused,
      isToldHeld: last.held === last.number,
    };
    this.losses.push(loss);
    if (loss.inside - excused > this.#interval) {
      const lasting = `${loss.inside.toFixed(1)} ms, the last one ${excused.toFixed(1)} ms`;
      this.tooMuch.push(`${lost.length} cells of ${lasting}, for an interval of ${this.#interval}`);
    }
    this.#checkFloor(lost, isFollowed);
  }

  /** What was told to be held is not lost, except where that checkpoint was still to be made. */
  #checkFloor(lost: readonly DoneCell[], isFollowed: boolean): void {
    const first = lost[0] as DoneCell;
    for (const { number, held } of lost) {
      const isBeingMade = held === number && number === lost.at(-1)?.number && !isFollowed;
      if (held !== null && held >= first.number && !isBeingMade) {
        this.untrue.push(`cell ${first.number} is lost, and cell ${number} told ${held} was held`);
      }
    }
  }
}

/** The numbers in "lost what these cells did: 1, 2, 5 to 9". */
function numbersIn(reason: string): number[] {
  return [...reason.matchAll(/lost what these cells did: ([\d, to]*\d)/g)].flatMap(
    ([, list = ""]) =>
      list.split(", ").flatMap((part) => {
        const [first = 0, last = first] = part.split(" to ").map(Number);
        return Array.from({ length: last - first + 1 }, (_, index) => first + index);
      }),
  );
}
