import type { TraceEvent } from "./events.js";

export interface Spending {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
  /** Calls without a known price: the cost is a lower bound. */
  readonly unpriced: number;
  readonly isEstimate: boolean;
}

/** A span of a run with the spans that are part of it. */
export interface TraceNode {
  readonly key: string;
  readonly depth: number;
  readonly events: readonly TraceEvent[];
  readonly children: readonly TraceNode[];
  /** Milliseconds since the run began, over all that is part of it. */
  readonly from: number;
  readonly to: number;
  /** With all that is part of it. */
  readonly spent: Spending;
}

interface Growing extends TraceNode {
  readonly parent: Growing | undefined;
  readonly events: TraceEvent[];
  readonly children: Growing[];
  from: number;
  to: number;
  spent: Spending;
}

const NOTHING: Spending = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cost: 0,
  unpriced: 0,
  isEstimate: false,
};

/** The runs in a trace. A span whose parent is not known yet stands by itself: loops cannot be. */
export function traceTree(events: readonly TraceEvent[]): readonly TraceNode[] {
  const nodes = new Map<string, Growing>();
  for (const event of events) {
    const key = `${event.run}/${event.span}`;
    const node = nodes.get(key) ?? plant(key, event, nodes.get(`${event.run}/${event.parent}`));
    nodes.set(key, node);
    node.events.push(event);
    node.from = Math.min(node.from, beginOf(event));
    node.to = Math.max(node.to, event.at);
    node.spent = sum(node.spent, spentBy(event));
  }
  const all = [...nodes.values()];
  // Parents come before their parts, so from the last one on all sums are whole.
  for (const node of all.toReversed()) {
    const { parent } = node;
    if (parent === undefined) continue;
    parent.from = Math.min(parent.from, node.from);
    parent.to = Math.max(parent.to, node.to);
    parent.spent = sum(parent.spent, node.spent);
  }
  return all.filter(({ parent }) => parent === undefined);
}

/** What was spent at each depth, the run itself first. */
export function spendingByDepth(events: readonly TraceEvent[]): readonly [number, Spending][] {
  const depths = new Map<number, Spending>();
  for (const event of events) {
    const spent = spentBy(event);
    if (spent === NOTHING) continue;
    depths.set(event.depth, sum(depths.get(event.depth) ?? NOTHING, spent));
  }
  return [...depths].sort(([one], [other]) => one - other);
}

export function sum(one: Spending, other: Spending): Spending {
  if (other === NOTHING) return one;
  return {
    calls: one.calls + other.calls,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cost: one.cost + other.cost,
    unpriced: one.unpriced + other.unpriced,
    isEstimate: one.isEstimate || other.isEstimate,
  };
}

function plant(key: string, { depth, at }: TraceEvent, parent: Growing | undefined): Growing {
  const node: Growing = {
    key,
    depth,
    parent,
    events: [],
    children: [],
    from: at,
    to: at,
    spent: NOTHING,
  };
  parent?.children.push(node);
  return node;
}

/** Where the first events are gone, the last one still tells how long it took. */
function beginOf(event: TraceEvent): number {
  return "ms" in event ? Math.max(0, event.at - event.ms) : event.at;
}

function spentBy(event: TraceEvent): Spending {
  if (event.type !== "model.reply") return NOTHING;
  return {
    calls: 1,
    inputTokens: event.usage.inputTokens,
    outputTokens: event.usage.outputTokens,
    cost: event.cost ?? 0,
    unpriced: event.cost === null ? 1 : 0,
    isEstimate: event.usage.isEstimate,
  };
}
