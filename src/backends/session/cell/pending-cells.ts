import { onAbort } from "../../../concurrency/abort.js";

export interface PendingCell extends Disposable {
  cancelled: boolean;
  running: { stop(cause: "cancelled"): void } | undefined;
}

/** The cells of a sandbox that are wanted and not over. */
export class PendingCells {
  readonly #cells = new Set<PendingCell>();

  enter(signal: AbortSignal | undefined): PendingCell {
    const cell: PendingCell = {
      cancelled: false,
      running: undefined,
      [Symbol.dispose]: () => {
        this.#cells.delete(cell);
        listening[Symbol.dispose]();
      },
    };
    const listening = onAbort(signal, () => cancel(cell));
    this.#cells.add(cell);
    return cell;
  }

  get isRunning(): boolean {
    return [...this.#cells].some(({ running }) => running !== undefined);
  }

  cancel(): void {
    for (const cell of this.#cells) cancel(cell);
  }
}

function cancel(cell: PendingCell): void {
  cell.cancelled = true;
  cell.running?.stop("cancelled");
}
