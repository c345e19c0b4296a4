import { z } from "zod";
import { CellarError } from "../../errors.js";
import { functionsOf } from "../../protocol/agent/functions.js";
import { type AgentCall, agentCallSchema } from "../../protocol/agent/messages.js";
import { loadTokenizer, type Tokenizer } from "../observation/tokens.js";

const VERSION = 1;
/** Older calls are only counted. */
const KEPT_CALLS = 5_000;
/** More than there are functions; names come from a sandbox. */
const KEPT_NAMES = 100;

const countSchema = z.int().min(0);

const loggedCallSchema = agentCallSchema.extend({ turn: countSchema });
type LoggedCall = z.infer<typeof loggedCallSchema>;

const recordSchema = z.strictObject({
  version: z.literal(VERSION),
  calls: z.array(loggedCallSchema).max(KEPT_CALLS),
  /** Reported calls of each function that did not fail. */
  counts: z.record(agentCallSchema.shape.name, countSchema),
  /** Calls that are no longer kept, or were only counted. */
  omitted: countSchema,
  answer: z.string().nullable(),
});
type ExplorationRecord = z.infer<typeof recordSchema>;

export type Strategy = "none" | "delegated" | "search" | "scan" | "mixed";

export interface ExplorationExport {
  readonly version: typeof VERSION;
  readonly encoding: Tokenizer["encoding"];
  readonly strategy: Strategy;
  readonly counts: Readonly<Record<string, number>>;
  /** With the tokens of the whole result, estimated from its beginning. */
  readonly calls: readonly (LoggedCall & { readonly tokens: number })[];
  readonly omitted: number;
  readonly explorationTokens: number;
  readonly answerTokens: number | null;
  /** `answerTokens / explorationTokens`; null without an answer or without exploration. */
  readonly tokenEfficiency: number | null;
}

const DELEGATING = functionsOf("delegate");
const NOT_EXPLORING = functionsOf("measure", "act", "note", "answer");

/** The calls with which an agent found its answer. */
export class ExplorationLog {
  #calls: LoggedCall[] = [];
  readonly #counts = new Map<string, number>();
  #omitted = 0;
  answer: string | undefined;

  /** `omitted` calls of the turn were counted, but not reported one by one. */
  add(turn: number, calls: readonly AgentCall[], omitted = 0): void {
    for (const call of calls) {
      this.#calls.push({ ...call, turn });
      const isKnown = this.#counts.has(call.name) || this.#counts.size < KEPT_NAMES;
      if (call.error === null && isKnown) {
        this.#counts.set(call.name, (this.#counts.get(call.name) ?? 0) + 1);
      }
    }
    const surplus = Math.max(0, this.#calls.length - KEPT_CALLS);
    if (surplus > 0) this.#calls = this.#calls.slice(surplus);
    this.#omitted += omitted + surplus;
  }

  get calls(): readonly LoggedCall[] {
    return this.#calls;
  }

  get strategy(): Strategy {
    return strategyOf(Object.fromEntries(this.#counts));
  }

  async export(): Promise<ExplorationExport> {
    const tokenizer = await loadTokenizer();
    const calls = this.#calls.map((call) => ({ ...call, tokens: tokensOf(call, tokenizer) }));
    const explorationTokens = calls
      .filter(({ name }) => !NOT_EXPLORING.includes(name))
      .reduce((sum, { tokens }) => sum + tokens, 0);
    const answerTokens = this.answer === undefined ? null : tokenizer.count(this.answer);
    return {
      version: VERSION,
      encoding: tokenizer.encoding,
      strategy: this.strategy,
      counts: Object.fromEntries(this.#counts),
      calls,
      omitted: this.#omitted,
      explorationTokens,
      answerTokens,
      tokenEfficiency:
        answerTokens === null || explorationTokens === 0 ? null : answerTokens / explorationTokens,
    };
  }

  toJSON(): ExplorationRecord {
    return {
      version: VERSION,
      calls: [...this.#calls],
      counts: Object.fromEntries(this.#counts),
      omitted: this.#omitted,
      answer: this.answer ?? null,
    };
  }

  static fromJSON(record: unknown): ExplorationLog {
    const parsed = recordSchema.safeParse(record);
    if (!parsed.success) {
      const message = `not an exploration log of version ${VERSION}: ${z.prettifyError(parsed.error)}`;
      const remedy = "Read it with the version of Cellar that wrote it.";
      throw new CellarError("STATE_REFUSED", message, { remedy });
    }
    const log = new ExplorationLog();
    log.#calls = parsed.data.calls;
    log.#omitted = parsed.data.omitted;
    log.answer = parsed.data.answer ?? undefined;
    for (const [name, count] of Object.entries(parsed.data.counts)) log.#counts.set(name, count);
    return log;
  }
}

export function strategyOf(counts: Readonly<Record<string, number>>): Strategy {
  const names = Object.keys(counts).filter(
    (name) => (counts[name] ?? 0) > 0 && !NOT_EXPLORING.includes(name),
  );
  if (names.length === 0) return "none";
  if (names.some((name) => DELEGATING.includes(name))) return "delegated";
  const { grep = 0, peek = 0 } = counts;
  if (grep > peek) return "search";
  if (peek > grep) return "scan";
  return "mixed";
}

function tokensOf({ size, preview }: LoggedCall, tokenizer: Tokenizer): number {
  if (size === 0 || preview === "") return 0;
  const tokens = tokenizer.count(preview);
  return size <= preview.length ? tokens : Math.round((tokens / preview.length) * size);
}
