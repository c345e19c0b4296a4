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

const UNTOLD = "…";
const REMEDY =
  "Record it anew if the change is meant; ignore patterns leave out what differs each time.";

export interface ReplayOptions {
  /**
   * What differs from run to run, such as times and addresses: parts of messages that these
   * patterns find are not compared.
   */
  readonly ignore?: readonly RegExp[] | undefined;
}

/** A recording that is played: each exchange once, and nothing that is not in it. */
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

  /** The first request that was not in the recording. */
  get divergence(): CellarError | undefined {
    return this.#divergence;
  }

  /** How many exchanges were not asked for yet. */
  get left(): number {
    return this.#left.size;
  }

  /** The exchange of a request. After the first one that has none, all fail as it did. */
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

  /** Fails when the run went another way, or ended before the recording did. */
  finish(): void {
    if (this.#divergence !== undefined) throw this.#divergence;
    const [next] = this.#left;
    if (next === undefined) return;
    const last = next.request.messages.at(-1)?.content ?? "";
    throw new CellarError(
      "CONFLICT",
      `the run ended early: ${this.#left.size} of ${this.cassette.exchanges.length} exchanges ` +
        `were not asked for; the next one asks ${next.model}: ${last.slice(0, 200)}`,
      { remedy: REMEDY, details: { left: this.#left.size } },
    );
  }

  /** What may come next: a caller's exchange does when all that ended before it were asked for. */
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
    // How long an answer may be follows from who asked before: where many ask at once, from chance.
    const { maxTokens: _, ...plain } = plainRequest(request);
    const messages = plain.messages.map(({ role, content }) => ({
      role,
      content: this.#ignore.reduce((text, pattern) => text.replace(pattern, UNTOLD), content),
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
        ? { message: undefined, text: "the recording has no more requests to it." }
        : divergenceBetween(meant.request, asked);
    return new CellarError(
      "CONFLICT",
      `the run went another way than its recording after ${played} exchanges, asking ${who}: ${text}`,
      { remedy: REMEDY, details: { played, model, caller, message: message ?? null } },
    );
  }
}

/** Answers from a recording, as the model that was recorded did. */
export function replayModel(
  replay: Replay,
  { caller, role, model }: RecordOptions & { readonly model?: string | undefined } = {},
): Model {
  const { models } = replay.cassette;
  const known = models.find(
    (one) =>
      (model === undefined || one.name === model) && (role === undefined || one.role === role),
  );
  if (known === undefined) {
    const names = models.map(({ name }) => name).join(", ");
    throw new CellarError("NOT_FOUND", `the recording has no model ${model ?? "at all"}`, {
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
