import { HttpError, tooMany } from "./http-error.js";

/** Bodies that are read at the same time. */
const MOST_BODIES = 64;
/** Of those together, as many of the longest. */
const MOST_WHOLE = 4;
/** A body that has taken less time is not dropped for another. */
const FAIR_MS = 1_000;
const LONGEST_MS = 30_000;

/** One body on its way in. */
export interface Intake extends Disposable {
  /** Before `bytes` more are kept. */
  take(bytes: number): void;
  /** Fails when it is dropped for another, or takes too long. */
  readonly ended: Promise<never>;
}

interface Reader {
  readonly since: number;
  bytes: number;
  readonly end: (why: HttpError) => void;
}

export interface IntakeLimits {
  /** Bytes of one body. */
  readonly limit: number;
  /** Milliseconds for one body. */
  readonly patience?: number | undefined;
}

/** Limits the bodies being read: number, bytes and time. The slowest is dropped for others. */
export class BodyIntake {
  readonly #mostBytes: number;
  readonly #patience: number;
  /** The oldest first. */
  readonly #readers = new Set<Reader>();

  constructor({ limit, patience = LONGEST_MS }: IntakeLimits) {
    this.#mostBytes = MOST_WHOLE * limit;
    this.#patience = patience;
  }

  enter(): Intake {
    while (this.#readers.size >= MOST_BODIES) this.#makeRoom();
    let end: (why: HttpError) => void = () => {};
    const ended = new Promise<never>((_, reject) => {
      end = reject;
    });
    ended.catch(() => {});
    const reader: Reader = { since: performance.now(), bytes: 0, end };
    this.#readers.add(reader);
    const timer = setTimeout(() => end(tooSlow()), this.#patience);
    return {
      ended,
      take: (bytes) => {
        reader.bytes += bytes;
        while (this.#held > this.#mostBytes) this.#makeRoom(reader);
      },
      [Symbol.dispose]: () => {
        clearTimeout(timer);
        this.#readers.delete(reader);
      },
    };
  }

  get #held(): number {
    return [...this.#readers].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The one that has been longest at it goes, unless that is not long, or it is the asker. */
  #makeRoom(asker?: Reader): void {
    const [oldest] = this.#readers;
    const isFair = oldest !== undefined && performance.now() - oldest.since >= FAIR_MS;
    if (!isFair || oldest === asker) throw tooMany();
    this.#readers.delete(oldest);
    oldest.end(tooSlow());
  }
}

function tooSlow(): HttpError {
  return new HttpError(408, "the request took too long to come", {
    code: "request_timeout",
    headers: { connection: "close" },
  });
}
