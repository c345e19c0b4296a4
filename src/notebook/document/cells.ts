import { randomUUID } from "node:crypto";
import type { Cell } from "../cell.js";
import { type CellKey, findCell } from "./cell-finding.js";
import { type CellRecord, placed } from "./cell-records.js";

/** The cells in their order, saved and not saved yet. */
export class CellList {
  readonly #records: () => readonly CellRecord[];
  /** Cells that wait, run or are being saved. */
  readonly #moving = new Map<string, Cell>();
  #order: string[];

  constructor(records: () => readonly CellRecord[]) {
    this.#records = records;
    this.#order = records().map(({ cell }) => cell.id);
  }

  get cells(): readonly Cell[] {
    const saved = new Map(this.#records().map(({ cell }) => [cell.id, cell]));
    const cells = this.#ids.flatMap((id) => this.#moving.get(id) ?? saved.get(id) ?? []);
    return cells.map((cell, index) => placed(cell, index));
  }

  append(code: string): Cell {
    const cell: Cell = {
      id: randomUUID(),
      index: this.#ids.length,
      number: null,
      code,
      state: "IDLE",
      outputs: [],
      executionCount: null,
      createdAt: new Date().toISOString(),
      executedAt: null,
      duration: null,
      resources: [],
    };
    this.#order.push(cell.id);
    this.#moving.set(cell.id, cell);
    return cell;
  }

  show(cell: Cell): void {
    this.#moving.set(cell.id, cell);
  }

  /** From now on the saved cell counts, if there is one. */
  settle(id: string): void {
    this.#moving.delete(id);
    const saved = new Set(this.#records().map(({ cell }) => cell.id));
    this.#order = this.#order.filter((one) => saved.has(one) || this.#moving.has(one));
  }

  withRecord(records: readonly CellRecord[], record: CellRecord): CellRecord[] {
    const { id } = record.cell;
    if (records.some(({ cell }) => cell.id === id)) {
      return records.map((one) => (one.cell.id === id ? record : one));
    }
    const ids = this.#ids;
    const place = new Map(ids.map((each, at) => [each, at]));
    const placeOf = ({ cell }: CellRecord) => place.get(cell.id) ?? ids.length;
    return [...records, record].sort((one, other) => placeOf(one) - placeOf(other));
  }

  find(key: CellKey): Cell {
    return findCell(this.cells, key);
  }

  has(id: string): boolean {
    return this.#ids.includes(id);
  }

  /** Deleted cells have none. */
  numbersOf(ids: readonly string[]): readonly number[] {
    const numbers = new Map(this.cells.map(({ id, number }) => [id, number]));
    return ids.flatMap((id) => numbers.get(id) ?? []);
  }

  /** With cells whose failed save turned out to have succeeded. */
  get #ids(): readonly string[] {
    const known = new Set(this.#order);
    for (const [at, { cell }] of this.#records().entries()) {
      if (known.has(cell.id)) continue;
      const before = this.#records()[at - 1]?.cell.id;
      const place = before === undefined ? 0 : this.#order.indexOf(before) + 1;
      this.#order.splice(place, 0, cell.id);
    }
    return this.#order;
  }
}
