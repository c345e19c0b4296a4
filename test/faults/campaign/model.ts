import type { Account, SeenCell } from "./account.js";
import { type Deed, PROBE, TORN, tokenOf, tokensOf } from "./deeds.js";

/** What is not as it must be. */
export interface Findings {
  /** Acknowledged, but gone or changed. */
  readonly lost: string[];
  /** Said, but not so. */
  readonly untrue: string[];
  /** Processes, folders and groups that nobody has any use for. */
  readonly leftBehind: string[];
}

const UNSAVED = /not saved|not in the record|not recorded/;
const DAMAGED = /damaged|cannot be read/;

/**
 * Hears what was acknowledged of one notebook, and knows by that what the next one must find: all of
 * it, and of a deed that was under way at a fault either all or nothing.
 */
export class Model {
  acknowledged = 0;
  readonly #findings: Findings;
  readonly #name: string;
  #cells: readonly SeenCell[] = [];
  #ranAfter: readonly number[] = [];
  #snapshot: number | null = null;
  #present = 0;
  /** Deeds of which nobody knows whether they were done. */
  #unclear: Deed[] = [];
  /** Tokens of cells that were deleted: their effects may be there or not. */
  readonly #deleted = new Set<string>();
  readonly #files = new Map<string, Set<string | undefined>>();

  constructor(name: string, findings: Findings) {
    this.#name = name;
    this.#findings = findings;
  }

  get cells(): readonly SeenCell[] {
    return this.#cells;
  }

  get isBehind(): boolean {
    return this.#ranAfter.length > 0;
  }

  /** What each file may hold; undefined for none. */
  get files(): ReadonlyMap<string, ReadonlySet<string | undefined>> {
    return this.#files;
  }

  /** A copy that was acknowledged is a notebook of its own. */
  begin(account: Account, parent: Model): void {
    for (const token of parent.#deleted) this.#deleted.add(token);
    this.#take(account);
  }

  /** A deed that was answered with success. */
  done(deed: Deed, account: Account): void {
    this.acknowledged += 1;
    this.#compare(account, [deed, ...this.#unclear]);
    if (deed.code !== undefined && !account.cells.some(({ code }) => code === deed.code)) {
      this.#lose(`the answered ${deed.name} is not there: ${deed.code}`);
    }
    if (deed.file !== undefined) this.#write(deed, account);
    this.#take(account);
    if (deed.name === "run" || deed.name === "replay") this.#observe(account);
  }

  /** A deed that failed, or that was under way when everything ended. */
  unclear(deed: Deed, account?: Account): void {
    this.#unclear.push(deed);
    if (deed.file !== undefined) {
      const { path, text } = deed.file;
      const before = this.#files.get(path) ?? [undefined];
      this.#files.set(path, new Set([...before, ...cutOff(deed), text]));
    }
    if (account === undefined) return;
    this.#compare(account, this.#unclear);
    this.#take(account);
  }

  /** Another process, or the same one again, has the notebook open. */
  reopened(account: Account, { isQuiet = false } = {}): void {
    this.#compare(account, this.#unclear);
    for (const { sequence, reason } of account.refused) {
      this.#deny(`the snapshot of run ${sequence} had been kept, and is refused: ${reason}`);
    }
    for (const warning of account.warnings.filter((text) => DAMAGED.test(text))) {
      this.#lose(warning);
    }
    const isUndone = this.#unclear.some(({ name }) => name === "undo");
    if (!isUndone && this.#snapshot !== null && (account.restored ?? 0) < this.#snapshot) {
      this.#deny(`the snapshot of run ${this.#snapshot} was told, ${account.restored} restored`);
    }
    if (isQuiet && this.#present > 0 && account.restored !== this.#present) {
      this.#deny(`it was closed at run ${this.#present}, ${account.restored} was restored`);
    }
    this.#take(account);
  }

  /** A cell that only looks has run. */
  probed(account: Account, lines: readonly string[]): void {
    this.#checkHeld(tokensOf(lines[0] ?? ""), account);
    if (lines[1] === TORN) this.#lose("the large variable is not what was assigned");
  }

  #take(account: Account): void {
    this.#cells = account.cells;
    this.#ranAfter = account.ranAfter;
    this.#snapshot = account.snapshot;
    this.#present = account.present;
  }

  /** Every change since the last account is explained by one of the deeds. */
  #compare(account: Account, deeds: readonly Deed[]): void {
    const found = new Map(account.cells.map((cell) => [cell.id, cell]));
    const known = new Set(this.#cells.map(({ id }) => id));
    const missing = new Set<number | null>(this.#ranAfter);
    for (const cell of this.#cells) {
      const now = found.get(cell.id);
      if (now === undefined) {
        if (deeds.some(({ name, target }) => name === "delete" && target === cell.id)) {
          this.#deleted.add(tokenOf(cell.code) ?? "");
        } else this.#lose(`a cell is gone: ${cell.code}`);
        continue;
      }
      const isReplayed = missing.has(cell.number) && deeds.some(({ name }) => name === "replay");
      if (now.record !== cell.record && !isReplayed) {
        this.#lose(`a cell has changed from ${cell.state} to ${now.state}: ${cell.code}`);
      }
      const mayBeUndone = isReplayed || deeds.some(({ name }) => name === "undo");
      if (now.isUndone !== cell.isUndone && !mayBeUndone) {
        this.#lose(`a cell is ${now.isUndone ? "" : "not "}undone: ${cell.code}`);
      }
    }
    for (const cell of account.cells.filter(({ id }) => !known.has(id))) {
      if (cell.code === PROBE) continue;
      if (!deeds.some(({ code }) => code === cell.code)) {
        this.#deny(`a cell is there that nobody ran: ${cell.code}`);
      }
    }
    const places = account.cells.map(({ index }) => index);
    if (places.some((index, at) => index !== at)) this.#deny(`cells have the places ${places}`);
  }

  #write(deed: Deed, account: Account): void {
    const { path, text } = deed.file as NonNullable<Deed["file"]>;
    const cell = account.cells.find(({ code }) => code === deed.code);
    const isWritten = deed.name === "putFile" || cell?.state === "COMPLETED";
    const before = this.#files.get(path) ?? [undefined];
    this.#files.set(path, new Set(isWritten ? [text] : [...before, ...cutOff(deed), text]));
  }

  /** The newest run has shown what the variables hold. */
  #observe(account: Account): void {
    const runs = account.cells.filter(({ executionCount }) => executionCount !== null);
    const newest = runs.sort((a, b) => Number(b.executionCount) - Number(a.executionCount))[0];
    if (newest === undefined || tokenOf(newest.code) === undefined) return;
    if (newest.state === "COMPLETED") this.#checkHeld(tokensOf(newest.shown), account);
  }

  /** The variables hold what the notebook says of them: no less, and no more. */
  #checkHeld(held: readonly string[], account: Account): void {
    const missing = new Set<number | null>(account.ranAfter);
    const completed = account.cells.filter(
      ({ state, code }) => state === "COMPLETED" && tokenOf(code) !== undefined,
    );
    for (const { code, number, isUndone } of completed) {
      const token = tokenOf(code) ?? "";
      const isThere = held.includes(token);
      if (isUndone) {
        if (isThere) this.#deny(`cell ${number} was undone, and is in the variables`);
      } else if (isThere && missing.has(number)) {
        this.#deny(`cell ${number} is said to be missing, and is in the variables`);
      } else if (!isThere && !missing.has(number)) {
        this.#lose(`cell ${number} is not in the variables, and nobody said so`);
      }
    }
    const tokens = new Map(account.cells.map((cell) => [tokenOf(cell.code), cell]));
    const strangers = held.filter((token) => !tokens.has(token) && !this.#deleted.has(token));
    const tellsUnsaved = account.warnings.some((text) => UNSAVED.test(text));
    if (strangers.length > 0 && !tellsUnsaved) {
      this.#deny(`${strangers} is in the variables, not in the record, and nobody said so`);
    }
    const counts = held.flatMap((token) => tokens.get(token)?.executionCount ?? []);
    // A run again that was not saved has the cell's effects later than its record says.
    if (!tellsUnsaved && counts.some((count, at) => count < (counts[at - 1] ?? 0))) {
      this.#deny(`the runs are in the variables in the order ${counts}`);
    }
  }

  #lose(what: string): void {
    this.#findings.lost.push(`${this.#name}: ${what}`);
  }

  #deny(what: string): void {
    this.#findings.untrue.push(`${this.#name}: ${what}`);
  }
}

/** A cell that was ended right after its `open` has written nothing yet; `putFile` is all or nothing. */
function cutOff(deed: Deed): readonly string[] {
  return deed.name === "putFile" ? [] : [""];
}
