import type { Checkpoint, CodeExecution } from "../../../src/index.js";

/** The tokens of the cells whose effects the variables hold, as one text. */
type State = string;

const EMPTY: State = "";
/** A cell keeps so many of the tokens before it. */
export const REMEMBERED = 20;
const LONGEST_TRAIL = 8;

/** Knows in which states the variables of one sandbox may be, by what its results said. */
export class StormModel {
  /** What is not as it was said. */
  readonly wrong: string[];
  #trail: readonly string[] = [];
  #states: ReadonlySet<State>;
  /** By the ids of checkpoints; the empty start is always there. */
  #kept: Map<number, ReadonlySet<State>>;

  constructor(wrong: string[], parent?: StormModel) {
    this.wrong = wrong;
    this.#states = parent?.now ?? new Set([EMPTY]);
    this.#kept = new Map(parent?.kept ?? [[0, new Set([EMPTY])]]);
  }

  get now(): ReadonlySet<State> {
    return this.#states;
  }

  get kept(): ReadonlyMap<number, ReadonlySet<State>> {
    return this.#kept;
  }

  ran(token: string, run: CodeExecution): void {
    const { status, state, duration } = run;
    this.#note(`${token} ${status} ${JSON.stringify(state)} ${Math.round(duration)} ms`);
    // It was taken back before its turn.
    if (run.status === "cancelled" && run.duration === 0) return;
    switch (run.status) {
      case "ok":
      case "error":
        this.#ended(token, run);
        break;
      case "cancelled":
      case "timeout":
      case "oom":
      case "crashed":
        this.#stopped(token, run);
        break;
    }
  }

  wentBack({ id, cell }: Checkpoint): void {
    this.#note(`undo to ${id}, cell ${cell}`);
    const target = this.#kept.get(id);
    if (target === undefined) this.#object(`undo went to the unknown checkpoint ${id}`);
    else this.#states = target;
  }

  /** A variable that was looked at between cells. */
  saw(log: unknown): void {
    const found = Array.isArray(log) ? log.join(" ") : EMPTY;
    if (!this.#states.has(found)) this.#object(`the variables hold ${show([found])}`);
    this.#states = new Set([found]);
  }

  #ended(token: string, { stdout, state }: CodeExecution): void {
    const [first = "", ...others] = stdout.trimEnd().split("\n");
    const shown = first.trim();
    if (others.length > 0) this.#object(`${token} shows what is not its own: ${stdout}`);
    const wanted = new Set([...this.#states].map((one) => added(one, token)));
    if (state.survived && !wanted.has(shown)) {
      this.#object(`${token} survived, but shows ${show([shown])}`);
    }
    if (!shown.endsWith(token)) this.#object(`${token} shows ${show([shown])}`);
    this.#states = new Set([shown]);
    this.#keep(state.checkpoint);
  }

  /** It may have come to its assignment or not; the checkpoint tells, where there is one. */
  #stopped(token: string, { status, state }: CodeExecution): void {
    const { survived, checkpoint } = state;
    const before = this.#states;
    const either = new Set([...before, ...[...before].map((one) => added(one, token))]);
    const known = checkpoint === null ? undefined : this.#kept.get(checkpoint);
    if (known !== undefined) {
      const isBefore = [...known].some((one) => before.has(one));
      if (survived && !isBefore) {
        this.#object(`${token} was ${status} and survived, but ${show(known)} is put in place`);
      }
      this.#states = known;
      return;
    }
    if (survived) this.#states = either;
    else if (checkpoint === null) this.#renew();
    else this.#object(`${token} was ${status}, and left the unknown checkpoint ${checkpoint}`);
    this.#keep(checkpoint);
  }

  /** A new, empty session. */
  #renew(): void {
    this.#states = new Set([EMPTY]);
    this.#kept = new Map([[0, this.#states]]);
  }

  #keep(checkpoint: number | null): void {
    if (checkpoint !== null) this.#kept.set(checkpoint, this.#states);
  }

  #note(event: string): void {
    this.#trail = [...this.#trail, event].slice(-LONGEST_TRAIL);
  }

  #object(what: string): void {
    const trail = this.#trail.map((event) => `\n    ${event}`).join("");
    this.wrong.push(`${what}; it should be ${show(this.#states)}, after${trail}`);
  }
}

function added(state: State, token: string): State {
  return [...state.split(" ").slice(-REMEMBERED), token].join(" ").trim();
}

function show(states: Iterable<State>): string {
  return [...states].map((state) => `[${state.slice(-120)}]`).join(" or ");
}
