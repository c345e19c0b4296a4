import type { NodeStatus, ResearchNode } from "./node.js";

const FEWEST_NODES = 3;
const MAX_REFS = 8;
const MARKERS: Readonly<Record<NodeStatus, string>> = {
  analyzed: "[+]",
  pending: "[?]",
  stale: "[~]",
};

export interface TreeLimits {
  /** Levels of indent; deeper nodes name their parent instead. */
  readonly depth: number;
  /** Children shown of one node: the newest. */
  readonly width: number;
  /** Nodes shown in all: the newest, with their ancestors. */
  readonly nodes: number;
}

export const TREE_LIMITS: TreeLimits = { depth: 6, width: 10, nodes: 30 };

/** The parents of nodes without a parent, and of nodes whose parents are no longer kept. */
type Root = "roots" | "orphans";
type Parent = ResearchNode | Root;

/** Each node is a child of the newest of its parents. */
class Forest {
  readonly #positions = new Map<string, number>();
  readonly #parents = new Map<ResearchNode, Parent>();
  readonly #children = new Map<Parent, ResearchNode[]>();
  readonly #nodes: readonly ResearchNode[];

  /** In order of the calls. A parent that comes later is ignored, so there are no cycles. */
  constructor(nodes: readonly ResearchNode[]) {
    this.#nodes = nodes;
    for (const [position, node] of nodes.entries()) {
      this.#attach(node, this.#newestParent(node));
      this.#positions.set(node.id, position);
    }
  }

  #attach(node: ResearchNode, parent: Parent): void {
    this.#parents.set(node, parent);
    const siblings = this.#children.get(parent);
    if (siblings === undefined) this.#children.set(parent, [node]);
    else siblings.push(node);
  }

  #newestParent({ parents }: ResearchNode): Parent {
    if (parents.length === 0) return "roots";
    return this.#nodes[Math.max(...parents.map((id) => this.positionOf(id)))] ?? "orphans";
  }

  parentOf(node: ResearchNode): Parent {
    return this.#parents.get(node) ?? "roots";
  }

  childrenOf(parent: Parent): readonly ResearchNode[] {
    return this.#children.get(parent) ?? [];
  }

  positionOf(id: string): number {
    return this.#positions.get(id) ?? -1;
  }

  /**
   * The newest nodes with their ancestors, up to the limits. A chain that is too long is cut: its
   * newer end becomes a root.
   */
  choose({ width, nodes: most }: TreeLimits): ReadonlySet<ResearchNode> {
    const chosen = new Set<ResearchNode>();
    const filled = new Map<Parent, number>();
    for (const node of this.#nodes.toReversed()) {
      const wanted: ResearchNode[] = [];
      let parent: Parent = node;
      while (typeof parent !== "string" && !chosen.has(parent)) {
        wanted.push(parent);
        parent = this.parentOf(parent);
      }
      if (wanted.length === 0 || (filled.get(parent) ?? 0) >= width) continue;
      const left = most - chosen.size;
      if (wanted.length > left) {
        const first = wanted[left - 1];
        if (first === undefined) break;
        wanted.length = left;
        this.#attach(first, "roots");
      }
      for (const one of wanted) {
        chosen.add(one);
        filled.set(this.parentOf(one), (filled.get(this.parentOf(one)) ?? 0) + 1);
      }
    }
    return chosen;
  }

  /** How many descendants of each node are not chosen, counted at their nearest chosen ancestor. */
  hidden(chosen: ReadonlySet<ResearchNode>): ReadonlyMap<Parent, number> {
    const counts = new Map<Parent, number>();
    for (const node of this.#nodes) {
      if (chosen.has(node)) continue;
      let parent = this.parentOf(node);
      while (typeof parent !== "string" && !chosen.has(parent)) parent = this.parentOf(parent);
      counts.set(parent, (counts.get(parent) ?? 0) + 1);
    }
    return counts;
  }
}

/** The map of the calls for the model; `collapsed` counts calls that are no longer kept. */
export function renderTree(
  nodes: readonly ResearchNode[],
  collapsed: Readonly<Record<NodeStatus, number>> = { analyzed: 0, pending: 0, stale: 0 },
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
  root: Root,
  forest: Forest,
  chosen: ReadonlySet<ResearchNode>,
  hidden: ReadonlyMap<Parent, number>,
  limits: TreeLimits,
): string[] {
  const lines: string[] = [];
  const waiting: { node: Parent; depth: number }[] = [{ node: root, depth: -1 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, depth } = next;
    if (typeof node !== "string") lines.push(...nodeLines(node, depth, forest, limits));
    const more = hidden.get(node) ?? 0;
    if (more > 0) lines.push(`${indent(depth + 1, limits)}(${more} more not shown)`);
    const children = forest.childrenOf(node).filter((child) => chosen.has(child));
    waiting.push(...children.toReversed().map((child) => ({ node: child, depth: depth + 1 })));
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

/** Every link of a node except the parent that it is shown below. */
function refsOf(node: ResearchNode, forest: Forest, isTooDeep: boolean): string[] {
  const parent = forest.parentOf(node);
  const isShown = (id: string) => !isTooDeep && typeof parent !== "string" && id === parent.id;
  const others = node.parents.filter((id) => !isShown(id));
  const known = new Set([...others, ...node.refs, ...node.semanticRefs]);
  const own = forest.positionOf(node.id);
  return [...known]
    .filter((id) => forest.positionOf(id) >= 0 && forest.positionOf(id) < own)
    .sort((one, other) => forest.positionOf(one) - forest.positionOf(other));
}

function indent(depth: number, limits: TreeLimits): string {
  return "  ".repeat(Math.min(depth, limits.depth));
}
