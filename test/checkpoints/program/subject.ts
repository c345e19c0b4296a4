import type { ExecuteOptions, ISandbox } from "../../../src/index.js";
import { type Cell, DIGEST, prelude } from "./cells.js";
import { type HeadNumbers, Line, Wrong } from "./line.js";

const MOST_TRIES = 4;

/** A sandbox and what must be true of it. */
export class Subject {
  readonly sandbox: ISandbox;
  readonly line: Line;
  readonly #prelude: Cell;
  readonly #trail: string[];
  #head: HeadNumbers | undefined;

  constructor(sandbox: ISandbox, start: { prelude: Cell; trail: string[]; line?: Line }) {
    this.sandbox = sandbox;
    this.line = new Line(start.line?.steps);
    this.#prelude = start.prelude;
    this.#trail = start.trail;
  }

  static preludeOf(digest: string, seed: number): Cell {
    return prelude(digest, seed);
  }

  /** Runs a cell, `secretly` with more than it says; whether it is in effect. */
  async perform(
    cell: Cell,
    options: ExecuteOptions & { secretly?: string } = {},
  ): Promise<boolean> {
    const { secretly, ...rest } = options;
    const run = await this.sandbox.execute((secretly ?? "") + cell.code, rest);
    const { number, status, state, error } = run;
    const code = cell.kind === "prelude" ? "" : `: ${cell.code}`;
    const failure = error === null ? "" : ` ${error.type}: ${error.message}`;
    this.#trail.push(
      `${number} ${status}${failure} ${JSON.stringify(state)} [${cell.kind}]${code}`,
    );
    const isInEffect = this.line.hear(cell, run);
    const { head } = (isInEffect && this.line.steps.at(-1)?.sight) || {};
    if (head !== undefined) this.#head = head;
    return isInEffect;
  }

  /** A digest; after a restore it is the first cell, and may be the one that a death is told with. */
  async look(cell: Cell = DIGEST, secretly = ""): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      // A restore may have gone back to before it.
      if (this.line.steps.length === 0 && !(await this.perform(this.#prelude))) continue;
      if (await this.perform(cell, { secretly })) return;
    }
    throw new Wrong("no digest could be made");
  }

  async head(): Promise<HeadNumbers> {
    if (this.#head === undefined) await this.look();
    if (this.#head === undefined) throw new Wrong("a digest that does not tell the process");
    return this.#head;
  }

  note(line: string): void {
    this.#trail.push(line);
  }

  /** What follows a restore is another process. */
  restored(): void {
    this.#head = undefined;
  }

  async fork(): Promise<Subject> {
    const twin = await this.sandbox.fork();
    return new Subject(twin, { prelude: this.#prelude, trail: this.#trail, line: this.line });
  }
}
