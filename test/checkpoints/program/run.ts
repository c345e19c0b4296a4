import { Chance } from "../../faults/campaign/chance.js";
import { type Cell, type CellSource, DIGEST, DRAIN } from "./cells.js";
import type { Ground } from "./ground.js";
import { drawIncident, type Incident, suffer } from "./incidents.js";
import { type Line, type Step, Wrong } from "./line.js";
import { compare } from "./reference.js";
import { Subject } from "./subject.js";
import { DISTURBANCE } from "./variants.js";
import { copiesIn } from "./way.js";

export interface RunReport {
  readonly seed: number;
  readonly restores: Readonly<Partial<Record<Incident, number>>>;
  readonly states: number;
  /** Checkpoints before the first restore, and the processes that hold them. */
  readonly kept: number;
  readonly copies: number;
  readonly differences: readonly string[];
  readonly failures: readonly string[];
  /** What was done, for a run that is to be understood. */
  readonly trail: readonly string[];
}

/** Of ten cells, how many are digests. */
const DIGESTS = 2;

/** Random cells with restores among them, then the same cells in effect without. */
export class Run {
  readonly #ground: Ground;
  readonly #seed: number;
  readonly #chance: Chance;
  readonly #trail: string[] = [];
  readonly #restores: Partial<Record<Incident, number>> = {};
  /** Twins that were left, with what they showed until then. */
  readonly #ended: Line[] = [];
  #held = { kept: 0, copies: 0 };
  #source: CellSource | undefined;
  #drawn = 0;

  constructor(ground: Ground, seed: number) {
    this.#ground = ground;
    this.#seed = seed;
    this.#chance = new Chance(`checkpoints ${seed}`);
  }

  async run(): Promise<RunReport> {
    const failures: string[] = [];
    const differences: string[] = [];
    let states = 0;
    try {
      this.#source = await this.#ground.source(this.#seed);
      const line = await this.#trial();
      for (const one of [...this.#ended, line]) {
        const comparison = await this.#compare(one);
        states += comparison.states;
        differences.push(...comparison.differences);
      }
    } catch (error) {
      const isTold = error instanceof Wrong;
      failures.push(isTold ? error.message : String((error as Error).stack ?? error));
    }
    const [seed, restores, trail] = [this.#seed, this.#restores, this.#trail];
    return { seed, restores, states, differences, failures, trail, ...this.#held };
  }

  async #trial(): Promise<Line> {
    const prelude = Subject.preludeOf(this.#ground.digest, this.#seed);
    const sandbox = await this.#ground.open(this.#seed, { checkpoints: "always" });
    let subject = new Subject(sandbox, { prelude, trail: this.#trail });
    try {
      await subject.perform(prelude);
      await this.#cells(subject, this.#chance.between(8, 30));
      await this.#count(subject);
      for (let left = this.#chance.between(1, 3); left > 0; left -= 1) {
        subject = await this.#restore(subject);
        await this.#cells(subject, this.#chance.between(2, 10));
      }
      subject = await this.#restore(subject);
      await this.#cells(subject, this.#chance.between(1, 5));
      await subject.look();
      await subject.look(DRAIN);
    } finally {
      await subject.sandbox.destroy();
    }
    return subject.line;
  }

  async #cells(subject: Subject, count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) {
      const isDigest = this.#chance.below(10) < DIGESTS;
      await subject.perform(isDigest ? DIGEST : this.#draw());
    }
  }

  async #count(subject: Subject): Promise<void> {
    const { namespace } = await subject.head();
    const kept = (await subject.sandbox.checkpoints()).filter(({ id }) => id !== 0).length;
    this.#held = { kept, copies: copiesIn(namespace) };
  }

  #draw(options: { withFiles?: boolean } = {}): Cell {
    this.#drawn += 1;
    return (this.#source as CellSource).draw(this.#chance, this.#drawn, options);
  }

  /** Something happens, and the state is what it was; the sandbox to go on with. */
  async #restore(subject: Subject): Promise<Subject> {
    const incident = drawIncident(this.#chance, subject);
    this.#restores[incident] = (this.#restores[incident] ?? 0) + 1;
    if (incident === "fork") return await this.#fork(subject);
    await suffer(incident, subject, this.#chance, () => this.#draw());
    const isDisturbed = this.#ground.variant === "changed-state";
    await subject.look(DIGEST, isDisturbed ? DISTURBANCE : "");
    return subject;
  }

  /** Both go on by themselves for a while, but only one with files, which they share. */
  async #fork(subject: Subject): Promise<Subject> {
    const twin = await subject.fork();
    const isTwin = this.#chance.below(2) === 0;
    const [kept, left] = isTwin ? [twin, subject] : [subject, twin];
    try {
      await left.look();
      await kept.look();
      for (let more = this.#chance.between(1, 4); more > 0; more -= 1) {
        await left.perform(this.#draw({ withFiles: false }));
        await kept.perform(this.#draw());
      }
      await left.look();
      this.#ended.push(left.line);
    } catch (error) {
      await kept.sandbox.destroy();
      throw error;
    } finally {
      await left.sandbox.destroy();
    }
    return kept;
  }

  async #compare({ steps }: Line) {
    await using sandbox = await this.#ground.open(this.#seed, { checkpoints: "off" });
    return await compare(
      sandbox,
      this.#ground.variant === "skipped-cell" ? this.#less(steps) : steps,
    );
  }

  #less(steps: readonly Step[]): Step[] {
    const skipped = this.#chance.one(steps.slice(1).filter(({ cell }) => cell.kind !== "digest"));
    return steps.filter((step) => step !== skipped);
  }
}
