import { checkNames, type OptionNames, requireOptions } from "../../config/kinds.js";
import { CellarError } from "../../errors.js";
import { functionsOf } from "../../protocol/agent/functions.js";
import type { Finding } from "../../protocol/messages.js";
import type { Embedder } from "./embedder.js";
import { LexicalEmbedder } from "./lexical-embedder.js";
import {
  isNodeId,
  keyOf,
  MAX_NAME,
  type NodeStatus,
  prefixOf,
  queryOf,
  type ResearchNode,
  splitId,
  summaryOf,
  type TrackedCall,
  textsOf,
} from "./node.js";
import {
  MAX_LINKS,
  MOST_NODES,
  nothingCollapsed,
  RECORD_VERSION,
  type ResearchEntry,
  type ResearchRecord,
  readRecord,
} from "./record.js";
import { citedIn, mentionedIn } from "./references.js";
import { type Related, SimilarityIndex } from "./similarity.js";
import { renderTree, TREE_LIMITS, type TreeLimits } from "./tree.js";

/** Prompts are the model's own words; patterns and paths are not. */
const PROMPTED = functionsOf("delegate").map(prefixOf);

export interface ResearchOptions {
  /** Whether to look for calls about the same subject. */
  readonly useSemantic?: boolean | undefined;
  /** Default: that of the embedder. */
  readonly semanticThreshold?: number | undefined;
  /** Default: `LexicalEmbedder`. */
  readonly embedder?: Embedder | undefined;
  readonly maxNodes?: number | undefined;
  /** Turns after which an unused result is stale. */
  readonly staleAfterTurns?: number | undefined;
  readonly tree?: Partial<TreeLimits> | undefined;
  /**
   * `sequence`: a call follows the one before it, unless its arguments used other results. `evidence`: it follows
   * only those that its arguments used.
   */
  readonly parents?: "sequence" | "evidence" | undefined;
}

const RESEARCH_OPTIONS: OptionNames<ResearchOptions> = {
  useSemantic: true,
  semanticThreshold: true,
  embedder: true,
  maxNodes: true,
  staleAfterTurns: true,
  tree: true,
  parents: true,
};

export interface Recorded {
  readonly added: readonly string[];
  /** Ids of calls that were not added: invalid ids, and ids that exist already. */
  readonly refused: readonly string[];
}

/** The calls of an agent, what led to what, and which results it has not used yet. */
export class ResearchContext {
  readonly #entries = new Map<string, ResearchEntry>();
  readonly #byKey = new Map<string, string>();
  readonly #counters = new Map<string, number>();
  #collapsed = nothingCollapsed();
  #turn = 0;
  #similarity: SimilarityIndex | undefined;
  #relating: Promise<unknown> = Promise.resolve();
  readonly #maxNodes: number;
  readonly #staleAfterTurns: number;
  readonly #tree: TreeLimits;
  readonly #isSequential: boolean;

  constructor(options: ResearchOptions = {}) {
    requireOptions("the options of a research context", options);
    checkNames("ResearchContext", options, RESEARCH_OPTIONS);
    if (options.useSemantic !== false) {
      const { embedder = new LexicalEmbedder() } = options;
      this.#similarity = new SimilarityIndex(
        embedder,
        options.semanticThreshold ?? embedder.threshold,
      );
    }
    this.#maxNodes = whole("maxNodes", options.maxNodes ?? 100);
    this.#staleAfterTurns = whole("staleAfterTurns", options.staleAfterTurns ?? 10);
    this.#tree = { ...TREE_LIMITS, ...options.tree };
    this.#isSequential = options.parents !== "evidence";
  }

  static fromJSON(value: unknown, options: ResearchOptions = {}): ResearchContext {
    const { turn, counters, collapsed, nodes } = readRecord(value);
    const research = new ResearchContext(options);
    research.#turn = turn;
    research.#collapsed = collapsed;
    for (const [prefix, number] of Object.entries(counters)) research.#count(prefix, number);
    for (const entry of nodes) {
      research.#add(entry);
      const { prefix, number } = splitId(entry.id);
      research.#count(prefix, number);
    }
    research.#collapse();
    return research;
  }

  /** Begins the next turn; results that the model's text names count as used. */
  beginTurn(text = ""): void {
    this.#turn += 1;
    for (const id of mentionedIn(text)) this.#use(id);
  }

  /** Results that a finding names as its source, or cites, count as used. */
  found(findings: readonly Pick<Finding, "text" | "source">[]): void {
    for (const { text, source } of findings) {
      for (const id of [...mentionedIn(source ?? ""), ...citedIn(text)]) this.#use(id);
    }
  }

  /** Adds the calls of a turn in order. They come from a sandbox, so any of them may be forged. */
  record(calls: readonly TrackedCall[]): Recorded {
    const added: string[] = [];
    const refused: string[] = [];
    for (const call of calls) {
      const id = call.id ?? this.#nextId(call.name);
      if (!isNodeId(id) || this.#entries.has(id)) {
        refused.push(id.slice(0, MAX_NAME));
        continue;
      }
      this.#addCall(id, call);
      added.push(id);
    }
    this.#collapse();
    return { added, refused };
  }

  #addCall(id: string, call: TrackedCall): void {
    const { prefix, number } = splitId(id);
    this.#count(prefix, number);
    const used = [...new Set(call.parents)].filter((parent) => parent !== id && isNodeId(parent));
    const given = textsOf(call.arguments).join("\n");
    const named = PROMPTED.includes(prefix) ? mentionedIn(given) : citedIn(given);
    const refs = [...new Set([...named, ...citedIn(call.preview)])].filter((ref) =>
      this.#entries.has(ref),
    );
    for (const one of [...used, ...refs]) this.#use(one);
    // Coming after a call says nothing about whether its result was used.
    const parents = used.length > 0 || !this.#isSequential ? used : this.#newest();
    this.#add({
      id,
      name: call.name.slice(0, MAX_NAME),
      query: queryOf(call),
      summary: summaryOf(call),
      turn: this.#turn,
      parents: parents.slice(0, MAX_LINKS),
      refs: refs.slice(0, MAX_LINKS),
      semanticRefs: null,
      key: keyOf(call) ?? null,
      isUsed: false,
      supersededBy: null,
    });
  }

  #newest(): string[] {
    const newest = [...this.#entries.keys()].at(-1);
    return newest === undefined ? [] : [newest];
  }

  #add(entry: ResearchEntry): void {
    if (entry.key !== null) {
      const before = this.#entries.get(this.#byKey.get(entry.key) ?? "");
      if (before !== undefined) before.supersededBy ??= entry.id;
      this.#byKey.set(entry.key, entry.id);
    }
    this.#entries.set(entry.id, entry);
  }

  #use(id: string): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined) entry.isUsed = true;
  }

  #count(prefix: string, number: number): void {
    this.#counters.set(prefix, Math.max(this.#counters.get(prefix) ?? 0, number));
  }

  #nextId(name: string): string {
    const prefix = prefixOf(name);
    return `${prefix}${(this.#counters.get(prefix) ?? 0) + 1}`;
  }

  /** Drops the oldest stale call; if none is stale, the oldest. */
  #collapse(): void {
    while (this.#entries.size > this.#maxNodes) {
      const entries = [...this.#entries.values()];
      const gone = entries.find((entry) => this.#statusOf(entry) === "stale") ?? entries[0];
      if (gone === undefined) return;
      this.#collapsed[this.#statusOf(gone)] += 1;
      this.#entries.delete(gone.id);
      if (gone.key !== null && this.#byKey.get(gone.key) === gone.id) this.#byKey.delete(gone.key);
    }
  }

  #statusOf({ supersededBy, isUsed, turn }: ResearchEntry): NodeStatus {
    if (supersededBy !== null) return "stale";
    if (isUsed) return "analyzed";
    return this.#turn - turn >= this.#staleAfterTurns ? "stale" : "pending";
  }

  /** Finds earlier calls about the same subject. The agent need not wait for it. */
  async relate(signal?: AbortSignal): Promise<Related> {
    const related = this.#relating.then(() => this.#similarity?.relate(this.#entries, signal));
    this.#relating = related.catch(() => undefined);
    const { added, notice } = (await related) ?? { added: 0 };
    if (notice === undefined) return { added };
    this.#similarity = undefined;
    return { added, notice };
  }

  get numbers(): ReadonlyMap<string, number> {
    return this.#counters;
  }

  get nodes(): readonly ResearchNode[] {
    return [...this.#entries.values()].map((entry) => {
      const { key: _, isUsed: __, supersededBy: ___, ...node } = entry;
      return { ...node, semanticRefs: node.semanticRefs ?? [], status: this.#statusOf(entry) };
    });
  }

  /** The block for the prompt; undefined before the third call. */
  render(): string | undefined {
    return renderTree(this.nodes, this.#collapsed, this.#tree);
  }

  reset(): void {
    this.#entries.clear();
    this.#byKey.clear();
    this.#counters.clear();
    this.#collapsed = nothingCollapsed();
    this.#turn = 0;
  }

  /** Plain data for `fromJSON`, without vectors: those are computed again when needed. */
  toJSON(): ResearchRecord {
    return structuredClone({
      version: RECORD_VERSION,
      turn: this.#turn,
      counters: Object.fromEntries(this.#counters),
      collapsed: this.#collapsed,
      nodes: [...this.#entries.values()],
    });
  }
}

function whole(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= MOST_NODES) return value;
  const message = `${name} must be an integer from 1 to ${MOST_NODES}, not ${value}`;
  throw new CellarError("INVALID_CONFIG", message);
}
