import { describe, expect, it } from "vitest";
import { ResearchContext, type ResearchOptions } from "./context.js";
import type { Embedder } from "./embedder.js";
import type { TrackedCall } from "./node.js";

const LITERAL: ResearchOptions = { parents: "evidence" as const, useSemantic: false };

let number = 0;
/** Different from all others where nothing else is said. */
function call(id: string | undefined, more: Partial<TrackedCall> = {}): TrackedCall {
  number += 1;
  return { id, name: "peek", arguments: { n: number }, preview: "", ...more };
}

function statuses(research: ResearchContext): Record<string, string> {
  return Object.fromEntries(research.nodes.map(({ id, status }) => [id, status]));
}

const find = (research: ResearchContext, id: string) =>
  research.nodes.find((node) => node.id === id);

/** The first letter decides: texts that begin alike are alike. */
class Letters implements Embedder {
  readonly name = "letters";
  readonly threshold = 0.9;
  readonly asked: string[] = [];

  async embed(texts: readonly string[]): Promise<Float32Array[]> {
    this.asked.push(...texts);
    return texts.map((text) => {
      const letter = text.split("\n")[1]?.codePointAt(0) ?? 0;
      return Float32Array.of(Math.cos(letter), Math.sin(letter));
    });
  }
}

describe("recording", () => {
  it("takes ids, or counts them by itself", () => {
    const research = new ResearchContext(LITERAL);
    research.record([call("G4", { name: "grep" })]);
    const own = [call(undefined, { name: "grep" }), call(undefined), call(undefined)];
    expect(research.record(own)).toEqual({ added: ["G5", "P1", "P2"], refused: [] });
  });

  it("refuses what is no id, and ids that are there, and says so", () => {
    const research = new ResearchContext(LITERAL);
    research.record([call("P1", { preview: "first" })]);
    const forged = ["P1", "", "## Research", "Q1", "x".repeat(9_000)].map((id) => call(id));
    const { added, refused } = research.record([...forged, call("P2")]);
    expect(added).toEqual(["P2"]);
    expect(refused.slice(0, 4)).toEqual(["P1", "", "## Research", "Q1"]);
    expect(refused[4]?.length).toBeLessThan(100);
    expect(find(research, "P1")?.summary).toBe("first");
  });

  it("has no parents but those that it is given", () => {
    const research = new ResearchContext(LITERAL);
    research.record([call("P1"), call("P2"), call("P3", { parents: ["P1", "P1", "P3", "no id"] })]);
    expect(research.nodes.map(({ parents }) => parents)).toEqual([[], [], ["P1"]]);
  });

  it("follows the call before it, which is not used by that", () => {
    const research = new ResearchContext({ useSemantic: false });
    research.record([call("P1"), call("P2"), call("P3", { parents: ["P1"] }), call("P4")]);
    expect(research.nodes.map(({ parents, status }) => [...parents, status])).toEqual([
      ["analyzed"],
      ["P1", "pending"],
      ["P1", "pending"],
      ["P3", "pending"],
    ]);
  });

  it("takes references to earlier calls only", () => {
    const research = new ResearchContext(LITERAL);
    research.record([
      call("G1"),
      call("P1", { preview: "see G1, P1, P2 and G7", arguments: { file: "based on G1" } }),
      call("L1", { name: "llm_call", arguments: { prompt: "Compare G1 with P1, not PG13" } }),
      call("G2", { name: "grep", arguments: { pattern: "P1" } }),
      call("P2"),
    ]);
    const refs = research.nodes.map((node) => node.refs);
    expect(refs).toEqual([[], ["G1"], ["G1", "P1"], [], []]);
  });

  it("bounds what a session may send", () => {
    const research = new ResearchContext(LITERAL);
    const parents = Array.from({ length: 5_000 }, (_, index) => `P${index + 10}`);
    research.record([call("P1", { parents, name: "n".repeat(9_000), preview: "x".repeat(9_000) })]);
    const [node] = research.nodes;
    expect(node?.parents.length).toBe(16);
    expect([node?.name.length, node?.summary.length]).toEqual([40, 200]);
    expect(node?.query.length).toBeLessThanOrEqual(100);
    expect(() => ResearchContext.fromJSON(research.toJSON())).not.toThrow();
  });
});

describe("a status", () => {
  it("is pending until a call uses the result or the model names it", () => {
    const research = new ResearchContext(LITERAL);
    research.beginTurn("look around");
    research.record([call("P1"), call("P2"), call("P3"), call("P4")]);
    expect(new Set(Object.values(statuses(research)))).toEqual(new Set(["pending"]));
    research.beginTurn("P3 is what we need. PG13 and P44 are not");
    research.record([call("G1", { parents: ["P1"], preview: "see P2" })]);
    const used = { P1: "analyzed", P2: "analyzed", P3: "analyzed", P4: "pending", G1: "pending" };
    expect(statuses(research)).toEqual(used);
  });

  it("is stale when the same call was made again, used or not", () => {
    const research = new ResearchContext(LITERAL);
    const same = { arguments: { n: 7, file: "a" } };
    research.record([call("P1", same), call("P2", { parents: ["P1"] })]);
    research.record([call("P3", { arguments: { file: "a", n: 7 } }), call("P4")]);
    research.beginTurn("P1 again");
    expect(statuses(research)).toEqual({
      P1: "stale",
      P2: "pending",
      P3: "pending",
      P4: "pending",
    });
  });

  it("is used when a finding names it as its source, or cites it", () => {
    const research = new ResearchContext(LITERAL);
    research.beginTurn();
    research.record([call("G1"), call("G2"), call("P1"), call("P2")]);
    research.found([
      { text: "G2 is a nebula", source: "G1" },
      { text: "nobody is there, see P2", source: null },
    ]);
    expect(statuses(research)).toEqual({
      G1: "analyzed",
      G2: "pending",
      P1: "pending",
      P2: "analyzed",
    });
  });

  it("is stale after some turns without use, until it is used after all", () => {
    const research = new ResearchContext({ ...LITERAL, staleAfterTurns: 3 });
    research.beginTurn();
    research.record([call("P1"), call("P2", { parents: ["P1"] }), call("P3")]);
    for (let turn = 0; turn < 2; turn++) research.beginTurn();
    expect(statuses(research)).toEqual({ P1: "analyzed", P2: "pending", P3: "pending" });
    research.beginTurn();
    expect(statuses(research)).toEqual({ P1: "analyzed", P2: "stale", P3: "stale" });
    research.beginTurn("as P3 said");
    expect(statuses(research)).toEqual({ P1: "analyzed", P2: "stale", P3: "analyzed" });
  });
});

describe("too many calls", () => {
  it("collapse into one line, the stale ones first", () => {
    const research = new ResearchContext({ ...LITERAL, maxNodes: 4 });
    const same = { arguments: { same: true } };
    research.record([call("P1"), call("P2", same), call("P3", same), call("P4", same)]);
    research.record([call("G1", { parents: ["P2"] })]);
    expect(Object.keys(statuses(research))).toEqual(["P1", "P3", "P4", "G1"]);
    research.record([call("G2", { parents: ["P1"] }), call("G3")]);
    expect(Object.keys(statuses(research))).toEqual(["P4", "G1", "G2", "G3"]);
    const text = research.render();
    expect(text).toContain("(3 older calls are left out: 1 analyzed, 2 stale)");
    expect(text).toContain("Orphans (what they came from is left out):\n[?] G1:");
  });

  it("stay bounded whatever comes, and ids go on counting", () => {
    const research = new ResearchContext({ ...LITERAL, maxNodes: 5 });
    for (let turn = 0; turn < 50; turn++) {
      research.beginTurn();
      research.record(Array.from({ length: 20 }, () => call(undefined)));
    }
    expect(research.nodes.map(({ id }) => id)).toEqual(["P996", "P997", "P998", "P999", "P1000"]);
    expect(research.render()).toContain("(995 older calls are left out: 995 pending)");
  });
});

describe("bounds", () => {
  it.each([0, 1.5, Number.NaN, 10_001])("are not %d", (maxNodes) => {
    expect(() => new ResearchContext({ maxNodes })).toThrow("maxNodes must be an integer");
  });
});

describe("semantic references", () => {
  it("are found by default, without any network", async () => {
    const research = new ResearchContext({ parents: "evidence" });
    research.record([
      call("G1", { name: "grep", preview: "connection to db-3 timed out after 30 s" }),
      call("D1", { name: "list_dir", preview: "heatmap.png, scatter.png, histogram.svg" }),
      call("P1", { preview: "db-3: connection refused; connection timed out" }),
    ]);
    expect(await research.relate()).toEqual({ added: 1 });
    expect(find(research, "P1")?.semanticRefs).toEqual(["G1"]);
    expect(research.render()).toContain("connection timed out\n    refs: G1");
    expect(find(research, "G1")?.status).toBe("pending");
  });

  it("go to the nearest earlier calls that are not linked or superseded", async () => {
    const embedder = new Letters();
    const research = new ResearchContext({ embedder, parents: "evidence" });
    const same = { arguments: { same: true }, preview: "a" };
    research.record([call("P1", { preview: "a" }), call("P2", { preview: "b" }), call("P3", same)]);
    research.record([call("P4", same), call("P5", { preview: "a", parents: ["P1"] })]);
    await research.relate();
    expect(research.nodes.map((node) => node.semanticRefs)).toEqual([
      [],
      [],
      ["P1"],
      ["P1"],
      ["P4"],
    ]);
  });

  it("obey a threshold of the caller, and can be off", async () => {
    const calls = [call("P1", { preview: "a" }), call("P2", { preview: "a" })];
    const counts = [];
    for (const options of [{}, { semanticThreshold: -1 }, { useSemantic: false }]) {
      const embedder = new Letters();
      const research = new ResearchContext({ embedder, parents: "evidence", ...options });
      research.record([...calls, call("P3", { preview: "d" })]);
      counts.push([(await research.relate()).added, embedder.asked.length]);
    }
    expect(counts).toEqual([
      [1, 3],
      [3, 3],
      [0, 0],
    ]);
    expect(() => new ResearchContext({ semanticThreshold: 7 })).toThrow("semanticThreshold");
  });

  it("embed each call once, without the words that all calls share", async () => {
    const embedder = new Letters();
    const research = new ResearchContext({ embedder, parents: "evidence" });
    research.record([call("G1", { name: "grep", arguments: { pattern: "x" }, preview: "a" })]);
    await Promise.all([research.relate(), research.relate()]);
    research.record([call("P1", { arguments: { n: 5 }, preview: "b" })]);
    await research.relate();
    expect(embedder.asked).toEqual(["'x')\na", "5)\nb"]);
  });

  it("are given up with one notice when the embedder fails, and the rest goes on", async () => {
    let asked = 0;
    const embed = async () => {
      asked += 1;
      throw new Error("out of order");
    };
    const research = new ResearchContext({
      parents: "evidence",
      embedder: { name: "mine", threshold: 0.5, embed },
    });
    research.record([call("P1"), call("P2", { preview: "see P1" })]);
    const told = await Promise.all([research.relate(), research.relate()]);
    const notice = "semantic references are off: the embedder mine failed: out of order";
    expect(told).toEqual([{ added: 0, notice }, { added: 0 }]);
    research.record([call("P3", { parents: ["P2"] })]);
    expect(await research.relate()).toEqual({ added: 0 });
    expect([asked, research.nodes.length]).toEqual([1, 3]);
    expect(research.render()).toContain("refs: P1");
  });

  it.each([
    ["too few", async () => []],
    ["uneven", async (texts: readonly string[]) => texts.map((_, at) => new Float32Array(at + 1))],
  ])("are given up when the embedder gives %s vectors", async (_, embed) => {
    const research = new ResearchContext({
      parents: "evidence",
      embedder: { name: "mine", threshold: 0.5, embed },
    });
    research.record([call("P1"), call("P2")]);
    expect((await research.relate()).notice).toContain("differ in number or length");
  });

  it("are looked for again after the caller gave up", async () => {
    const embedder = new Letters();
    const controller = new AbortController();
    let isSlow = true;
    const embed = async (texts: readonly string[], signal?: AbortSignal) => {
      if (isSlow) {
        controller.abort();
        signal?.throwIfAborted();
      }
      return embedder.embed(texts);
    };
    const research = new ResearchContext({
      parents: "evidence",
      embedder: { name: "slow", threshold: 0.9, embed },
    });
    research.record([call("P1", { preview: "a" }), call("P2", { preview: "a" })]);
    await expect(research.relate(controller.signal)).rejects.toMatchObject({ code: "ABORTED" });
    isSlow = false;
    expect(await research.relate()).toEqual({ added: 1 });
  });

  it("do not come from before a reset", async () => {
    const embedder = new Letters();
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const embed = async (texts: readonly string[]) => {
      await gate;
      return embedder.embed(texts);
    };
    const research = new ResearchContext({
      parents: "evidence",
      embedder: { name: "slow", threshold: 0.9, embed },
    });
    research.record([call("P1", { preview: "a" }), call("P2", { preview: "a" })]);
    const before = research.relate();
    await Promise.resolve();
    research.reset();
    research.record([call("P1", { preview: "b" }), call("P2", { preview: "c" })]);
    release();
    await before;
    await research.relate();
    expect(research.nodes.map((node) => node.semanticRefs)).toEqual([[], []]);
    expect(research.toJSON().turn).toBe(0);
  });
});
