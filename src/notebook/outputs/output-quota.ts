import { blobsOf, type CellRecord } from "../document/cell-records.js";
import { blobKey } from "../store/store.js";

const MEBIBYTE = 1024 * 1024;

/** What the outputs of one cell may take of the notebook's total, and what did not fit. */
export class OutputQuota {
  readonly #maxMb: number;
  #left: number;
  #omitted = 0;
  #omittedBytes = 0;

  constructor(maxMb: number, taken = 0) {
    this.#maxMb = maxMb;
    this.#left = Math.max(0, maxMb * MEBIBYTE - taken);
  }

  /** `cell` is about to run again: what it showed before does not count. */
  static beside(records: readonly CellRecord[], cell: string, maxMb: number): OutputQuota {
    const others = records.filter((record) => record.cell.id !== cell);
    const blobs = new Map(others.flatMap(blobsOf).map((ref) => [blobKey(ref), ref.bytes]));
    const inline = others.map(({ entry: { record } }) =>
      typeof record === "string" ? Buffer.byteLength(record) : 0,
    );
    const taken = [...blobs.values(), ...inline].reduce((sum, bytes) => sum + bytes, 0);
    return new OutputQuota(maxMb, taken);
  }

  /** Whether it fits; what does not is counted. */
  take(bytes: number): boolean {
    if (bytes <= this.#left) {
      this.#left -= bytes;
      return true;
    }
    this.#omitted += 1;
    this.#omittedBytes += bytes;
    return false;
  }

  get note(): string | undefined {
    if (this.#omitted === 0) return undefined;
    const size = (this.#omittedBytes / MEBIBYTE).toFixed(1);
    return (
      `left out ${this.#omitted} outputs (${size} MB): the outputs of a notebook may take ` +
      `${this.#maxMb} MB in all (outputsMaxSizeMb); delete cells, or show less`
    );
  }
}
