import { describe, expect, it } from "vitest";
import type { ResearchNode } from "./node.js";
import { renderTree, TREE_LIMITS } from "./tree.js";

const BOUNDLESS = { depth: 1_000, width: 1_000, nodes: 1_000 };
const NOTHING = { analyzed: 0, pending: 0, stale: 0 };

function node(id: string, parents: string[] = [], more: Partial<ResearchNode> = {}): ResearchNode {
  return {
    id,
    name: "peek",
    query: `peek(n=${id})`,
    summary: `text of ${id}`,
    turn: 1,
    parents,
    refs: [],
    semanticRefs: [],
    status: "pending",
    ...more,
  };
}

/** The ids in the order of their lines. */
function shown(text: string | undefined): string[] {
  return [...(text ?? "").matchAll(/^ *\[.\] (\w+):/gm)].map(([, id = ""]) => id);
}

function hidden(text: string | undefined): number {
  const counts = [...(text ?? "").matchAll(/\((\d+) more not shown\)/g)];
  return counts.reduce((sum, [, number]) => sum + Number(number), 0);
}

/** The same numbers in every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

/** Calls that came from any others: earlier ones, later ones, themselves and some that never were. */
function anyNodes(seed: number, isLawless: boolean): ResearchNode[] {
  const roll = dice(seed);
  const count = 3 + roll(60);
  return Array.from({ length: count }, (_, index) => {
    const range = isLawless ? count + 5 : index;
    const pick = () => `P${roll(range) + 1}`;
    const links = () => (range === 0 ? [] : Array.from({ length: roll(4) }, pick));
    return node(`P${index + 1}`, links(), { refs: links(), semanticRefs: links() });
  });
}

describe("the tree", () => {
  it("looks like this", () => {
    const nodes = [
      node("G1", [], {
        query: "grep(pattern='error')",
        summary: "SecretCounts 3 matches in log file...",
        status: "analyzed",
      }),
      node("P1", ["G1"], {
        query: "peek(n=100)",
        summary: "Error at line 42: connection timeout...",
        refs: ["G1"],
      }),
      node("D1", [], { query: "list_dir(path='/workspace')", summary: "", status: "stale" }),
    ];
    expect(renderTree(nodes)).toBe(
      [
        "## Research Context",
        "Progress: 1 analyzed, 1 pending, 1 stale",
        "",
        "[+] G1: grep(pattern='error')",
        "    -> SecretCounts 3 matches in log file...",
        "  [?] P1: peek(n=100)",
        "      -> Error at line 42: connection timeout...",
        "      refs: G1",
        "[~] D1: list_dir(path='/workspace')",
        "    -> (nothing)",
      ].join("\n"),
    );
  });

  it("is there from the third node on", () => {
    expect(renderTree([])).toBeUndefined();
    expect(renderTree([node("P1"), node("P2")])).toBeUndefined();
    expect(shown(renderTree([node("P1"), node("P2"), node("P3")]))).toEqual(["P1", "P2", "P3"]);
    expect(renderTree([node("P7")], { ...NOTHING, stale: 2 })).toContain("[?] P7");
  });

  it("shows a node with several parents once, below the newest, and names the others", () => {
    const text = renderTree([node("G1"), node("P1", ["G1"]), node("L1", ["P1", "G1"])]);
    expect(shown(text)).toEqual(["G1", "P1", "L1"]);
    expect(text).toContain("    [?] L1: peek(n=L1)\n        -> text of L1\n        refs: G1");
  });

  it("puts what came from nothing known into a section of its own", () => {
    const text = renderTree([node("P5", ["G1"]), node("P6"), node("P7", ["P5"])]);
    const [before, after] = text?.split("\nOrphans (what they came from is left out):\n") ?? [];
    expect([shown(before), shown(after)]).toEqual([["P6"], ["P5", "P7"]]);
  });

  it("has no gap where there are orphans alone", () => {
    const text = renderTree([node("P1", ["G1"]), node("P2", ["G1"]), node("P3", ["G1"])]);
    expect(text).toContain("0 stale\n\nOrphans (what they came from is left out):\n[?] P1");
  });

  it("tells in one line what was forgotten", () => {
    const text = renderTree([node("P9")], { analyzed: 1, pending: 0, stale: 4 });
    expect(text).toContain("\n(5 older calls are left out: 1 analyzed, 4 stale)\n\n[?] P9");
  });

  it("stops indenting at a depth, and names the parents from there", () => {
    const chain = Array.from({ length: 10 }, (_, index) =>
      node(`P${index + 1}`, index === 0 ? [] : [`P${index}`]),
    );
    const text = renderTree(chain);
    expect(shown(text)).toHaveLength(10);
    expect(text).toContain(`\n${" ".repeat(12)}[?] P7: `);
    expect(text).toContain(`\n${" ".repeat(12)}[?] P8: `);
    expect([...(text ?? "").matchAll(/refs: (\w+)/g)].map(([, id]) => id)).toEqual([
      "P7",
      "P8",
      "P9",
    ]);
  });

  it("shows the newest of many side by side and counts the others with all below them", () => {
    const many = Array.from({ length: 14 }, (_, index) => node(`P${index + 2}`, ["P1"]));
    const nodes = [node("P1"), ...many, node("G1", ["P2"])];
    const text = renderTree(nodes, NOTHING, { ...TREE_LIMITS, width: 3 });
    expect(shown(text)).toEqual(["P1", "P2", "G1", "P14", "P15"]);
    expect(text).toContain("text of P1\n  (11 more not shown)\n  [?] P2");
  });

  it("shows the newest end of a line that is too long", () => {
    const chain = Array.from({ length: 50 }, (_, index) =>
      node(`P${index + 1}`, index === 0 ? [] : [`P${index}`]),
    );
    const text = renderTree(chain);
    expect(shown(text)).toEqual(chain.slice(20).map(({ id }) => id));
    expect(text).toContain(
      "\n(20 more not shown)\n[?] P21: peek(n=P21)\n    -> text of P21\n    refs: P20",
    );
  });

  it("cuts a long list of references", () => {
    const nodes = Array.from({ length: 12 }, (_, index) => node(`P${index + 1}`));
    const last = node("L1", [], { refs: nodes.map(({ id }) => id) });
    expect(renderTree([...nodes, last])).toMatch(/refs: P1, P2, .*P8, 4 more$/);
  });

  it("shows every node exactly once, whatever came from what", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const nodes = anyNodes(seed, seed % 2 === 0);
      const text = renderTree(nodes, NOTHING, BOUNDLESS);
      expect(shown(text).sort(), `seed ${seed}`).toEqual(nodes.map(({ id }) => id).sort());
      expect(hidden(text)).toBe(0);
      expect(renderTree(nodes, NOTHING, BOUNDLESS)).toBe(text);
    }
  });

  it("shows or counts every node within any bounds", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const roll = dice(seed + 1_000);
      const limits = { depth: roll(5), width: 1 + roll(5), nodes: 1 + roll(20) };
      const nodes = anyNodes(seed, seed % 2 === 0);
      const text = renderTree(nodes, NOTHING, limits);
      const ids = shown(text);
      expect(new Set(ids).size, `seed ${seed}`).toBe(ids.length);
      expect(ids.length).toBeLessThanOrEqual(limits.nodes);
      expect(ids.length + hidden(text), `seed ${seed}`).toBe(nodes.length);
      expect(text?.match(/^ */gm)?.every((margin) => margin.length <= 2 * limits.depth + 4)).toBe(
        true,
      );
    }
  });
});
