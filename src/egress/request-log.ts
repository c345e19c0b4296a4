import { formatAuthority } from "./authority.js";

/** One attempt to connect. Contents are never kept. */
export interface NetworkRequest {
  readonly at: string;
  /** `host:port`, or the start of what could not be parsed. */
  readonly target: string;
  readonly isAllowed: boolean;
  /** Why it was refused or failed. */
  readonly reason?: string | undefined;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

export interface NetworkTotals {
  readonly allowed: number;
  readonly refused: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

const REMEMBERED_REQUESTS = 500;
const TARGET_CHARACTERS = 300;

export class RequestLog {
  readonly #requests: Writable<NetworkRequest>[] = [];
  readonly #totals = { allowed: 0, refused: 0, sentBytes: 0, receivedBytes: 0 };

  get requests(): readonly NetworkRequest[] {
    return this.#requests.map((request) => ({ ...request }));
  }

  get totals(): NetworkTotals {
    return { ...this.#totals };
  }

  allow(target: Parameters<typeof formatAuthority>[0]): Traffic {
    const entry = this.#add(formatAuthority(target), true);
    this.#totals.allowed += 1;
    return {
      sent: (bytes) => {
        entry.sentBytes += bytes;
        this.#totals.sentBytes += bytes;
      },
      received: (bytes) => {
        entry.receivedBytes += bytes;
        this.#totals.receivedBytes += bytes;
      },
      failed: (reason) => {
        entry.reason = reason;
      },
    };
  }

  refuse(target: string, reason: string): void {
    this.#add(target.slice(0, TARGET_CHARACTERS), false, reason);
    this.#totals.refused += 1;
  }

  #add(target: string, isAllowed: boolean, reason?: string): Writable<NetworkRequest> {
    const at = new Date().toISOString();
    const entry = { at, target, isAllowed, sentBytes: 0, receivedBytes: 0, reason };
    this.#requests.push(entry);
    if (this.#requests.length > REMEMBERED_REQUESTS) this.#requests.shift();
    return entry;
  }
}

export interface Traffic {
  sent(bytes: number): void;
  received(bytes: number): void;
  failed(reason: string): void;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
