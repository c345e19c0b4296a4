import { addFields } from "../add-fields.js";
import type { TraceEvent } from "./events.js";

const NOTHING = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cost: 0,
  /** Calls without a known price: with any, the cost is a lower bound. */
  unpriced: 0,
  /** Calls whose tokens are estimates. */
  estimated: 0,
};

export type Spending = Readonly<typeof NOTHING>;

/** A span of a run with the spans inside it. */
export interface TraceNode {
  readonly events: readonly TraceEvent[];
  readonly children: readonly TraceNode[];
  /** Milliseconds since the run began, including children. */
  readonly from: number;
  readonly to: number;
  /** Including children. */
  readonly spent: Spending;
}

interface GrowingNode extends TraceNode {
  readonly parent: GrowingNode | undefined;
  readonly events: TraceEvent[];
  readonly children: GrowingNode[];
  from: number;
  to: number;
  spent: Spending;
}

/** The runs in a trace. A span becomes a root if its parent has not occurred yet, so there are no cycles. */
export function traceTree(events: readonly TraceEvent[]): readonly TraceNode[] {
  const nodes = new Map<string, GrowingNode>();
  for (const event of events) {
    const key = `${event.run}/${event.span}`;
    const node = nodes.get(key) ?? newNode(event, nodes.get(`${event.run}/${event.parent}`));
    nodes.set(key, node);
    node.events.push(event);
    node.from = Math.min(node.from, beginOf(event));
    node.to = Math.max(node.to, event.at);
    node.spent = addFields(node.spent, spentBy(event));
  }
  const all = [...nodes.values()];
  // Parents come before their children, so in reverse every sum is complete when it is added.
  for (const node of all.toReversed()) {
    const { parent } = node;
    if (parent === undefined) continue;
    parent.from = Math.min(parent.from, node.from);
    parent.to = Math.max(parent.to, node.to);
    parent.spent = addFields(parent.spent, node.spent);
  }
  return all.filter(({ parent }) => parent === undefined);
}

/** Sorted by depth. */
export function spendingByDepth(events: readonly TraceEvent[]): readonly [number, Spending][] {
  const depths = new Map<number, Spending>();
  for (const event of events) {
    const spent = spentBy(event);
    if (spent === NOTHING) continue;
    depths.set(event.depth, addFields(depths.get(event.depth) ?? NOTHING, spent));
  }
  return [...depths].sort(([one], [other]) => one - other);
}

function newNode({ at }: TraceEvent, parent: GrowingNode | undefined): GrowingNode {
  const node = { parent, events: [], children: [], from: at, to: at, spent: NOTHING };
  parent?.children.push(node);
  return node;
}

/** An end event says how long it took, which helps if the first events were dropped. */
function beginOf(event: TraceEvent): number {
  return "ms" in event ? Math.max(0, event.at - event.ms) : event.at;
}

function spentBy(event: TraceEvent): Spending {
  if (event.type !== "model.reply") return NOTHING;
  const { inputTokens, outputTokens, isEstimate } = event.usage;
  return {
    calls: 1,
    inputTokens,
    outputTokens,
    cost: event.cost ?? 0,
    unpriced: event.cost === null ? 1 : 0,
    estimated: isEstimate ? 1 : 0,
  };
}
