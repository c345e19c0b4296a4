import { describeError } from "../../errors.js";
import type { CallerType, ToolErrorCode } from "../tool.js";

const MOST_KEPT = 10_000;
const LONGEST_TEXT = 500;
const LONGEST_VALUE = 4_000;
const MOST_ITEMS = 20;
const MAX_DEPTH = 4;

/** Where in a chained turn a call stands. */
export interface ChainPlace {
  readonly id: string;
  readonly index: number;
}

/** One call, as it is kept: arguments and errors are cut, and show no secret. */
export interface Invocation {
  readonly tool: string;
  readonly arguments: unknown;
  readonly callerType: CallerType;
  readonly chainId: string | undefined;
  readonly chainIndex: number | undefined;
  readonly startedAt: Date;
  readonly elapsedMs: number;
  readonly outcome: "ok" | ToolErrorCode;
  readonly error: string | undefined;
}

export type InvocationListener = (invocation: Invocation) => void;

/** The newest calls, oldest first. */
export class InvocationLog {
  readonly #kept: Invocation[] = [];
  readonly #listeners = new Set<InvocationListener>();
  #total = 0;
  #isWarned = false;

  get invocations(): readonly Invocation[] {
    return [...this.#kept];
  }

  /** Also counts those that are not kept any more. */
  get total(): number {
    return this.#total;
  }

  onInvocation(listener: InvocationListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** `caller` hears of this one beside those who hear of all. */
  add(invocation: Invocation, caller?: InvocationListener): void {
    this.#total += 1;
    this.#kept.push(invocation);
    // In pieces: dropping one a call would move all others each time.
    if (this.#kept.length > 2 * MOST_KEPT) this.#kept.splice(0, MOST_KEPT);
    for (const listener of this.#listeners) this.#tell(listener, invocation);
    if (caller !== undefined) this.#tell(caller, invocation);
  }

  /** An error of a listener must not fail the call, which is over. */
  #tell(listener: InvocationListener, invocation: Invocation): void {
    try {
      listener(invocation);
    } catch (error) {
      if (this.#isWarned) return;
      this.#isWarned = true;
      process.emitWarning(`a listener of the log of tools failed: ${describeError(error)}`, {
        type: "CellarWarning",
      });
    }
  }
}

/** As much of a value as a log shows; thousands of them are kept. */
export function shortened(value: unknown): unknown {
  return new Shortener().shorten(value, 0);
}

class Shortener {
  #left = LONGEST_VALUE;

  shorten(value: unknown, depth: number): unknown {
    this.#left -= 8;
    if (typeof value === "string") return this.#text(value);
    if (typeof value === "bigint") return this.#text(value.toString());
    if (typeof value !== "object" || value === null) return value;
    if (depth >= MAX_DEPTH || this.#left <= 0) return "…";
    if (Array.isArray(value)) {
      const items = value.slice(0, MOST_ITEMS).map((item) => this.shorten(item, depth + 1));
      return value.length > MOST_ITEMS ? [...items, `… ${value.length - MOST_ITEMS} more`] : items;
    }
    const entries = Object.entries(value).slice(0, MOST_ITEMS);
    return Object.fromEntries(
      entries.map(([key, item]) => [this.#text(key), this.shorten(item, depth + 1)]),
    );
  }

  #text(text: string): string {
    const most = Math.max(0, Math.min(LONGEST_TEXT, this.#left));
    this.#left -= Math.min(text.length, most);
    return text.length <= most ? text : `${detached(text.slice(0, Math.max(0, most - 1)))}…`;
  }
}

/** A copy: a slice would keep the whole text in memory. */
export function detached(text: string): string {
  return Buffer.from(text, "utf16le").toString("utf16le");
}
