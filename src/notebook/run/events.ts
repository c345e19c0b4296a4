import type { Output } from "../../backends/backend.js";
import type { Cell, CellState } from "../cell.js";

export type CellEvent =
  | { readonly type: "state"; readonly state: CellState }
  | { readonly type: "stdout" | "stderr"; readonly text: string }
  | (Output & { readonly type: "display" })
  /** Number of events that were dropped because they were not read in time. */
  | { readonly type: "omitted"; readonly events: number }
  /** The cell is saved; this is the last event. */
  | { readonly type: "finished"; readonly cell: Cell };

const MOST_WAITING = 1000;
const MOST_BYTES = 4 * 1024 * 1024;

/** The events of one cell, buffered within bounds until they are read. */
export class CellEvents implements AsyncIterable<CellEvent> {
  readonly #waiting: CellEvent[] = [];
  #bytes = 0;
  #omitted = 0;
  #isOver = false;
  #failure: unknown;
  #wake: (() => void)[] = [];
  readonly #onText: ((text: string) => void) | undefined;

  constructor(onText?: (text: string) => void) {
    this.#onText = onText;
  }

  push(event: CellEvent): void {
    if (this.#isOver) return;
    if ("text" in event) this.#onText?.(event.text);
    const isNeeded = event.type === "state" || event.type === "finished";
    const isFull = this.#waiting.length >= MOST_WAITING || this.#bytes >= MOST_BYTES;
    if (isFull && !isNeeded) {
      this.#omitted += 1;
      return;
    }
    this.#waiting.push(...this.#gap(), event);
    this.#bytes += sizeOf(event);
    this.#alarm();
  }

  end(failure?: unknown): void {
    this.#isOver = true;
    this.#failure = failure;
    this.#alarm();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<CellEvent, void, undefined> {
    for (;;) {
      const event = this.#waiting.shift();
      if (event !== undefined) {
        this.#bytes -= sizeOf(event);
        yield event;
      } else if (!this.#isOver) await new Promise<void>((resolve) => this.#wake.push(resolve));
      else if (this.#failure !== undefined) throw this.#failure;
      else return;
    }
  }

  #gap(): CellEvent[] {
    if (this.#omitted === 0) return [];
    const events = this.#omitted;
    this.#omitted = 0;
    return [{ type: "omitted", events }];
  }

  #alarm(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

function sizeOf(event: CellEvent): number {
  switch (event.type) {
    case "stdout":
    case "stderr":
      return event.text.length;
    case "display": {
      const parts = [...Object.values(event.data), ...Object.values(event.binary)];
      return parts.reduce((sum, part) => sum + (part?.length ?? 0), 0);
    }
    case "state":
    case "omitted":
    case "finished":
      return 0;
  }
}
