import { createHash } from "node:crypto";
import type { Opened, Said, SeenCell } from "./hosts.case.test.js";

/** One run of a cell that changed the variables. */
interface Run {
  readonly sequence: number;
  readonly cell: string;
  readonly token: string;
  /** Later cells ran without its effects. */
  readonly isLost: boolean;
}

type Deed = Extract<Said, { at: "begin" }>;

/**
 * Hears what hosts say of a notebook and knows by that what the next one must find: all that was
 * acknowledged, and of the deed that was under way at a kill either all or nothing.
 */
export class Chronicle {
  /** What is not as it must be. */
  readonly violations: string[] = [];
  readonly counts = { acknowledged: 0, restored: 0, behind: 0, replayed: 0 };
  #cells: readonly SeenCell[] = [];
  #runs: readonly Run[] = [];
  /** The sequences of the runs whose effects are in the variables. */
  #held: readonly number[] = [];
  #last = 0;
  #kept: number | null = null;
  #deed: Deed | undefined;

  hear(said: Said): void {
    switch (said.at) {
      case "open":
        this.#compare(said.cells, "is there after the kill");
        this.#reopen(said);
        break;
      case "begin":
        this.#deed = said;
        break;
      case "done":
        this.counts.acknowledged += 1;
        if (this.#deed?.op === "replay") this.counts.replayed += 1;
        this.#compare(said.cells, "was acknowledged");
        this.#kept = said.kept;
        this.#expectWarnings(said.warnings);
        break;
      case "failed":
        this.violations.push(`the host failed: ${said.message}`);
        break;
      case "answer":
        break;
    }
  }

  /** Takes the cells for the truth, when the deed under way explains all that is new. */
  #compare(found: readonly SeenCell[], how: string): void {
    const deed = this.#deed;
    const before = new Map(this.#cells.map((cell) => [cell.id, cell]));
    const ids = new Set(found.map(({ id }) => id));
    const gone = this.#cells.filter(({ id }) => !ids.has(id));
    for (const { id, code } of gone) {
      if (deed?.op === "delete" && deed.targets.includes(id)) this.#forget(id);
      else this.violations.push(`a cell is gone that was acknowledged: ${code}`);
    }
    const stayed = this.#cells.filter(({ id }) => ids.has(id)).map(({ id }) => id);
    const order = [...stayed, ...found.map(({ id }) => id).filter((id) => !before.has(id))];
    this.#expect(
      "the order of the cells",
      found.map(({ id }) => id),
      order,
    );
    this.#expect(
      "the numbers",
      found.map(({ number }) => number),
      [...found.keys()],
    );
    if (deed?.op === "undo" && found.some((cell) => isNewlyUndone(cell, before))) this.#goBack();
    const isAllowed = (cell: SeenCell) =>
      deed?.targets.includes(cell.id) || (!before.has(cell.id) && deed?.code === cell.code);
    const news = found.filter((cell) => before.get(cell.id)?.record !== cell.record);
    for (const cell of news.filter((one) => !isAllowed(one))) {
      this.violations.push(`a cell ${how} that nobody acknowledged or began: ${cell.code}`);
    }
    this.#run(news.filter(({ executionCount }) => (executionCount ?? 0) > this.#last));
    this.#checkUndone(found, before, deed);
    this.#cells = found;
    this.#deed = undefined;
  }

  /** Each cell has mixed its token into what the variables held. */
  #run(executed: readonly SeenCell[]): void {
    const inOrder = executed.toSorted(
      (a, b) => Number(a.executionCount) - Number(b.executionCount),
    );
    if (this.#deed !== undefined && this.#deed.targets.length > 0) {
      const targets = this.#deed.targets.slice(0, inOrder.length);
      this.#expect(
        "the cells that ran again",
        inOrder.map(({ id }) => id),
        targets,
      );
    }
    for (const cell of inOrder) {
      const sequence = Number(cell.executionCount);
      const run = { sequence, cell: cell.id, token: tokenOf(cell.code), isLost: false };
      const held = new Set(this.#held);
      const before = this.#runs.flatMap((one) => {
        if (held.has(one.sequence)) return [one];
        return one.cell === cell.id ? [] : [{ ...one, isLost: true }];
      });
      this.#runs = [...before, run];
      this.#held = [...this.#held, sequence];
      this.#last = sequence;
      this.#expect(`the state of run ${sequence}`, cell.state, "COMPLETED");
      this.#expect(`the variables after run ${sequence}`, cell.mark, this.#mark());
    }
  }

  #reopen({ restored, ranAfter, refused, warnings }: Opened): void {
    this.#expectNothing("refused snapshots", refused);
    const isThere = (sequence: number | null) =>
      this.#runs.some((run) => run.sequence === sequence && !run.isLost);
    if (restored !== null && !isThere(restored)) {
      this.violations.push(`the variables are those of run ${restored}, which is not in effect`);
    }
    if (isThere(this.#kept) && (restored ?? 0) < Number(this.#kept)) {
      this.violations.push(`the snapshot ${this.#kept} was there, and ${restored} was restored`);
    }
    this.#held = this.#runs
      .filter(({ sequence, isLost }) => !isLost && sequence <= (restored ?? 0))
      .map(({ sequence }) => sequence);
    const numbers = new Map(this.#cells.map(({ id, number }) => [id, number]));
    const missing = this.#missing().flatMap(({ cell }) => numbers.get(cell) ?? []);
    this.#expect("what ran after the snapshot", ranAfter, missing);
    this.#expectWarnings(warnings);
    if (restored !== null) this.counts.restored += 1;
    if (ranAfter.length > 0) this.counts.behind += 1;
  }

  /** The last run of each cell whose effects are not in the variables, in their order. */
  #missing(): Run[] {
    const absent = this.#runs.filter(({ sequence }) => !this.#held.includes(sequence));
    return absent.filter(
      ({ cell }, at) => !absent.slice(at + 1).some((later) => later.cell === cell),
    );
  }

  /** Only of what a kill has taken and nothing brings back. */
  #expectWarnings(found: readonly string[]): void {
    const ids = new Set(this.#cells.map(({ id }) => id));
    const isGone = this.#missing().some(({ cell, isLost }) => !isLost && !ids.has(cell));
    const others = found.filter((warning) => !/deleted cells? (is|are) missing/.test(warning));
    this.#expectNothing("warnings", others);
    this.#expect("the warning of deleted cells", found.length, isGone ? 1 : 0);
  }

  #forget(id: string): void {
    this.#runs = this.#runs.filter(
      ({ cell, sequence }) => cell !== id || this.#held.includes(sequence),
    );
  }

  #goBack(): void {
    const taken = this.#held.at(-1);
    this.#held = this.#held.slice(0, -1);
    this.#runs = this.#runs.filter(({ sequence }) => sequence !== taken);
  }

  #checkUndone(
    found: readonly SeenCell[],
    before: ReadonlyMap<string, SeenCell>,
    deed: Deed | undefined,
  ): void {
    const changed = found.filter((cell) => {
      const former = before.get(cell.id);
      return former?.record === cell.record && former.isUndone !== cell.isUndone;
    });
    const most = deed?.op === "undo" ? 1 : 0;
    if (changed.length > most) this.violations.push(`${changed.length} cells were undone`);
  }

  #mark(): string {
    const tokens = new Map(this.#runs.map(({ sequence, token }) => [sequence, token]));
    return this.#held.reduce(
      (mark, sequence) =>
        createHash("sha256")
          .update(mark + tokens.get(sequence))
          .digest("hex")
          .slice(0, 16),
      "",
    );
  }

  #expect(what: string, found: unknown, wanted: unknown): void {
    const [is, should] = [JSON.stringify(found), JSON.stringify(wanted)];
    if (is !== should) this.violations.push(`${what}: ${is} instead of ${should}`);
  }

  #expectNothing(what: string, found: readonly unknown[]): void {
    if (found.length > 0) this.violations.push(`${what}: ${JSON.stringify(found)}`);
  }
}

function isNewlyUndone(cell: SeenCell, before: ReadonlyMap<string, SeenCell>): boolean {
  return cell.isUndone && before.get(cell.id)?.isUndone === false;
}

function tokenOf(code: string): string {
  return /'(t\w+)'/.exec(code)?.[1] ?? "";
}
