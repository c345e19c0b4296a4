import type { NodeStatus, ResearchNode } from "./node.js";

/** Fewer calls need no map. */
const FEWEST_NODES = 3;
const MAX_REFS = 8;
const MARKERS: Readonly<Record<NodeStatus, string>> = {
  analyzed: "[+]",
  pending: "[?]",
  stale: "[~]",
};

export type Tally = Readonly<Record<NodeStatus, number>>;

export interface TreeLimits {
  /** Deeper nodes stay at this indent and name their parent. */
  readonly depth: number;
  /** Nodes side by side below one node; the newest are shown. */
  readonly width: number;
  /** Nodes in all; the newest are shown, with those that they came from. */
  readonly nodes: number;
}

export const TREE_LIMITS: TreeLimits = { depth: 6, width: 10, nodes: 30 };

/** A node that stands for all: above those that came from nothing, or from what is gone. */
type Top = "roots" | "orphans";
type Above = ResearchNode | Top;

/** The nodes as a forest: each below the newest of those that it came from. */
class Forest {
  readonly #places = new Map<string, number>();
  readonly #above = new Map<ResearchNode, Above>();
  readonly #below = new Map<Above, ResearchNode[]>();
  readonly #nodes: readonly ResearchNode[];

  /** The order is that of the calls. A parent that comes later is none: so there are no loops. */
  constructor(nodes: readonly ResearchNode[]) {
    this.#nodes = nodes;
    for (const [place, node] of nodes.entries()) {
      this.#hang(node, this.#findAbove(node));
      this.#places.set(node.id, place);
    }
  }

  #hang(node: ResearchNode, above: Above): void {
    this.#above.set(node, above);
    const siblings = this.#below.get(above);
    if (siblings === undefined) this.#below.set(above, [node]);
    else siblings.push(node);
  }

  #findAbove({ parents }: ResearchNode): Above {
    if (parents.length === 0) return "roots";
    const places = parents.map((id) => this.#places.get(id) ?? -1);
    return this.#nodes[Math.max(...places)] ?? "orphans";
  }

  above(node: ResearchNode): Above {
    return this.#above.get(node) ?? "roots";
  }

  below(above: Above): readonly ResearchNode[] {
    return this.#below.get(above) ?? [];
  }

  place(id: string): number {
    return this.#places.get(id) ?? -1;
  }

  /**
   * From the newest node on, each with all that it hangs from, as long as there is room. Where a
   * line is too long for that, its newer end is shown from the margin on.
   */
  choose({ width, nodes: most }: TreeLimits): ReadonlySet<ResearchNode> {
    const chosen = new Set<ResearchNode>();
    const filled = new Map<Above, number>();
    for (const node of this.#nodes.toReversed()) {
      const wanted: ResearchNode[] = [];
      let above: Above = node;
      while (typeof above !== "string" && !chosen.has(above)) {
        wanted.push(above);
        above = this.above(above);
      }
      if (wanted.length === 0 || (filled.get(above) ?? 0) >= width) continue;
      const first = wanted[most - chosen.size - 1];
      if (wanted.length > most - chosen.size) {
        if (first === undefined) break;
        wanted.length = most - chosen.size;
        this.#hang(first, "roots");
      }
      for (const one of wanted) {
        chosen.add(one);
        filled.set(this.above(one), (filled.get(this.above(one)) ?? 0) + 1);
      }
    }
    return chosen;
  }

  /** How many nodes hang below the one, to any depth, and are not chosen. */
  hidden(chosen: ReadonlySet<ResearchNode>): ReadonlyMap<Above, number> {
    const counts = new Map<Above, number>();
    for (const node of this.#nodes) {
      if (chosen.has(node)) continue;
      let above = this.above(node);
      while (typeof above !== "string" && !chosen.has(above)) above = this.above(above);
      counts.set(above, (counts.get(above) ?? 0) + 1);
    }
    return counts;
  }
}

/** The map of the calls for the model; none while there are few. `collapsed` were forgotten. */
export function renderTree(
  nodes: readonly ResearchNode[],
  collapsed: Tally = { analyzed: 0, pending: 0, stale: 0 },
  limits: TreeLimits = TREE_LIMITS,
): string | undefined {
  const forgotten = collapsed.analyzed + collapsed.pending + collapsed.stale;
  if (nodes.length + forgotten < FEWEST_NODES) return undefined;
  const forest = new Forest(nodes);
  const count = (status: NodeStatus) => nodes.filter((node) => node.status === status).length;
  const lines = [
    "## Research Context",
    `Progress: ${count("analyzed")} analyzed, ${count("pending")} pending, ${count("stale")} stale`,
  ];
  if (forgotten > 0) {
    const parts = Object.entries(collapsed).filter(([, number]) => number > 0);
    const told = parts.map(([status, number]) => `${number} ${status}`).join(", ");
    lines.push(`(${forgotten} older calls are left out: ${told})`);
  }
  const chosen = forest.choose(limits);
  const hidden = forest.hidden(chosen);
  lines.push("", ...branchLines("roots", forest, chosen, hidden, limits));
  const orphans = branchLines("orphans", forest, chosen, hidden, limits);
  if (orphans.length > 0) lines.push("", "Orphans (what they came from is left out):", ...orphans);
  return lines
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trimEnd();
}

function branchLines(
  top: Top,
  forest: Forest,
  chosen: ReadonlySet<ResearchNode>,
  hidden: ReadonlyMap<Above, number>,
  limits: TreeLimits,
): string[] {
  const lines: string[] = [];
  const waiting: { node: Above; depth: number }[] = [{ node: top, depth: -1 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, depth } = next;
    if (typeof node !== "string") lines.push(...nodeLines(node, depth, forest, limits));
    const more = hidden.get(node) ?? 0;
    if (more > 0) lines.push(`${indent(depth + 1, limits)}(${more} more not shown)`);
    const below = forest.below(node).filter((child) => chosen.has(child));
    waiting.push(...below.toReversed().map((child) => ({ node: child, depth: depth + 1 })));
  }
  return lines;
}

function nodeLines(
  node: ResearchNode,
  depth: number,
  forest: Forest,
  limits: TreeLimits,
): string[] {
  const margin = indent(depth, limits);
  const refs = refsOf(node, forest, depth > limits.depth);
  const shown = refs.slice(0, MAX_REFS);
  const more = refs.length - shown.length;
  return [
    `${margin}${MARKERS[node.status]} ${node.id}: ${node.query}`,
    `${margin}    -> ${node.summary === "" ? "(nothing)" : node.summary}`,
    ...(shown.length === 0
      ? []
      : [`${margin}    refs: ${shown.join(", ")}${more > 0 ? `, ${more} more` : ""}`]),
  ];
}

/** What a node has to do with besides the one that it stands below. */
function refsOf(node: ResearchNode, forest: Forest, isTooDeep: boolean): string[] {
  const above = forest.above(node);
  const isShown = (id: string) => !isTooDeep && typeof above !== "string" && id === above.id;
  const others = node.parents.filter((id) => !isShown(id));
  const known = new Set([...others, ...node.refs, ...node.semanticRefs]);
  const own = forest.place(node.id);
  return [...known]
    .filter((id) => forest.place(id) >= 0 && forest.place(id) < own)
    .sort((one, other) => forest.place(one) - forest.place(other));
}

function indent(depth: number, limits: TreeLimits): string {
  return "  ".repeat(Math.min(depth, limits.depth));
}
