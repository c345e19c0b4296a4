import { createHash } from "node:crypto";
import { CellarError } from "../../errors.js";
import type { Model, ModelReply, ModelRequest } from "../model.js";
import {
  type Cassette,
  type Exchange,
  type PlainRequest,
  plainRequest,
  type RecordOptions,
  readCassette,
  recordedError,
} from "./cassette.js";
import { closest, divergenceBetween } from "./divergence.js";

const LEFT_OUT = "…";
const REMEDY = "If the change is intended, record the run again.";

export interface ReplayOptions {
  /** Parts of messages that are not compared, such as times and addresses. */
  readonly ignore?: readonly RegExp[] | undefined;
}

/** Answers requests from a recording, each exchange once. */
export class Replay {
  readonly cassette: Cassette;
  readonly #ignore: readonly RegExp[];
  readonly #keys = new Map<Exchange, string>();
  readonly #left: Set<Exchange>;
  #divergence: CellarError | undefined;

  constructor(cassette: Cassette, { ignore = [] }: ReplayOptions = {}) {
    this.cassette = cassette;
    this.#ignore = ignore.map(
      ({ source, flags }) => new RegExp(source, flags.includes("g") ? flags : `${flags}g`),
    );
    this.#left = new Set(cassette.exchanges);
  }

  static async open(path: string, options: ReplayOptions = {}): Promise<Replay> {
    return new Replay(await readCassette(path), options);
  }

  /** Set by the first request that is not in the recording. */
  get divergence(): CellarError | undefined {
    return this.#divergence;
  }

  /** How many exchanges have not been used yet. */
  get left(): number {
    return this.#left.size;
  }

  /** Once a request is not in the recording, this and all later ones fail. */
  take(model: string, caller: string | null, request: ModelRequest): Exchange {
    if (this.#divergence !== undefined) throw this.#divergence;
    const asked = this.#comparable(request);
    const key = keyOf(asked);
    const ready = this.#ready(model, caller);
    const found = ready.find((exchange) => this.#keyOf(exchange) === key);
    if (found !== undefined) {
      this.#left.delete(found);
      return found;
    }
    this.#divergence = this.#diverged(model, caller, asked, ready);
    throw this.#divergence;
  }

  /** Fails if the run diverged, or ended before the recording. */
  finish(): void {
    if (this.#divergence !== undefined) throw this.#divergence;
    const [next] = this.#left;
    if (next === undefined) return;
    const last = next.request.messages.at(-1)?.content ?? "";
    throw new CellarError(
      "CONFLICT",
      `the run ended early: ${this.#left.size} of ${this.cassette.exchanges.length} exchanges ` +
        `were not used; the next one asks ${next.model}: ${last.slice(0, 200)}`,
      { remedy: REMEDY, details: { left: this.#left.size } },
    );
  }

  /** Exchanges that may come next: for a caller, those that began before its earliest unused one ended. */
  #ready(model: string, caller: string | null): readonly Exchange[] {
    const own = [...this.#left].filter(
      (exchange) => exchange.model === model && exchange.caller === caller,
    );
    if (caller === null) return own;
    const firstEnd = own.reduce((least, { ended }) => Math.min(least, ended), Infinity);
    return own.filter(({ began }) => began < firstEnd);
  }

  #keyOf(exchange: Exchange): string {
    let key = this.#keys.get(exchange);
    if (key === undefined) {
      key = keyOf(this.#comparable(exchange.request));
      this.#keys.set(exchange, key);
    }
    return key;
  }

  #comparable(request: PlainRequest): PlainRequest {
    // The limit depends on the requests under way, and so differs between runs.
    const { maxTokens: _, ...plain } = plainRequest(request);
    const messages = plain.messages.map(({ role, content }) => ({
      role,
      content: this.#ignore.reduce((text, pattern) => text.replace(pattern, LEFT_OUT), content),
    }));
    return { ...plain, messages };
  }

  #diverged(
    model: string,
    caller: string | null,
    asked: PlainRequest,
    ready: readonly Exchange[],
  ): CellarError {
    const played = this.cassette.exchanges.length - this.#left.size;
    const who = caller === null ? model : `${model} (${caller})`;
    const comparable = ready.map((exchange) => ({
      ...exchange,
      request: this.#comparable(exchange.request),
    }));
    const meant = closest(comparable, asked);
    const { message, text } =
      meant === undefined
        ? { message: undefined, text: "the recording has no more requests to this model." }
        : divergenceBetween(meant.request, asked);
    return new CellarError(
      "CONFLICT",
      `the run differs from its recording after ${played} exchanges, when asking ${who}: ${text}`,
      { remedy: REMEDY, details: { played, model, caller, message: message ?? null } },
    );
  }
}

export function replayModel(
  replay: Replay,
  { caller, role, name: wanted }: RecordOptions = {},
): Model {
  const { models } = replay.cassette;
  const known = models.find(
    (one) =>
      (wanted === undefined || one.name === wanted) && (role === undefined || one.role === role),
  );
  if (known === undefined) {
    const names = models.map(({ name }) => name).join(", ");
    throw new CellarError("NOT_FOUND", `the recording has no model ${wanted ?? "at all"}`, {
      remedy: names === "" ? "Record a run first." : `It has ${names}.`,
    });
  }
  const { name, contextWindow, price } = known;
  return {
    name,
    contextWindow,
    price,
    complete: async (request) => answer(replay.take(name, caller ?? null, request), request),
  };
}

function keyOf(request: PlainRequest): string {
  return createHash("sha256").update(JSON.stringify(request)).digest("base64");
}

function answer({ outcome }: Exchange, { signal, onText }: ModelRequest): ModelReply {
  if (signal?.aborted) {
    throw new CellarError("ABORTED", "the request was cancelled", { cause: signal.reason });
  }
  if ("error" in outcome) throw recordedError(outcome.error);
  onText?.(outcome.text);
  return outcome;
}
