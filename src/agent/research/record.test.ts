import { describe, expect, it } from "vitest";
import { ResearchContext, type ResearchOptions } from "./context.js";
import type { TrackedCall } from "./node.js";

const OPTIONS: ResearchOptions = { parents: "evidence" as const, maxNodes: 20, staleAfterTurns: 4 };
const NAMES = ["grep", "peek", "llm_call", "code_search", "list_dir", "other"];
const SUBJECTS = ["the timeout of db-3", "the white whale", "revenue of 2023", "see G1 and P2"];

/** The same numbers in every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

function anyCall(research: ResearchContext, roll: (sides: number) => number): TrackedCall {
  const known = research.nodes.map(({ id }) => id);
  const pick = () => known[roll(known.length)] ?? `G${1 + roll(90)}`;
  const parents = Array.from({ length: roll(3) }, () =>
    roll(6) === 0 ? `P${1 + roll(90)}` : pick(),
  );
  return {
    name: NAMES[roll(NAMES.length)] ?? "",
    arguments: { n: roll(12) },
    preview: `${SUBJECTS[roll(SUBJECTS.length)]} ${roll(100)}`,
    parents,
  };
}

async function anyTurns(research: ResearchContext, seed: number): Promise<void> {
  const roll = dice(seed);
  for (let turn = 0; turn < 12; turn++) {
    research.beginTurn(roll(3) === 0 ? `G${1 + roll(5)} and P${1 + roll(5)} are read` : "");
    research.record(Array.from({ length: roll(5) }, () => anyCall(research, roll)));
    if (roll(3) > 0) await research.relate();
  }
}

const copied = (research: ResearchContext) =>
  ResearchContext.fromJSON(JSON.parse(JSON.stringify(research)), OPTIONS);

describe("a research context that was written down", () => {
  it("comes back as it was, and goes on as the first would", async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const first = new ResearchContext(OPTIONS);
      await anyTurns(first, seed);
      const second = copied(first);
      expect(second.toJSON(), `seed ${seed}`).toEqual(first.toJSON());
      expect(second.nodes).toEqual(first.nodes);
      expect(second.render()).toBe(first.render());
      await Promise.all([first, second].map((research) => anyTurns(research, seed + 1_000)));
      await Promise.all([first.relate(), second.relate()]);
      expect(second.toJSON(), `seed ${seed}, later`).toEqual(first.toJSON());
    }
  });

  it("shares nothing with the one it was made from", () => {
    const research = new ResearchContext(OPTIONS);
    research.record([{ id: "P1", name: "peek", arguments: {}, preview: "" }]);
    const written = research.toJSON();
    research.record([{ id: "P2", name: "peek", arguments: {}, preview: "", parents: ["P1"] }]);
    expect(written.nodes).toMatchObject([{ id: "P1", isUsed: false }]);
  });

  it("has no vectors", async () => {
    const research = new ResearchContext(OPTIONS);
    research.record([{ id: "P1", name: "peek", arguments: {}, preview: "text" }]);
    await research.relate();
    expect(JSON.stringify(research).length).toBeLessThan(500);
  });

  it("keeps what came from a call that is gone, as an orphan", () => {
    const research = new ResearchContext(OPTIONS);
    const call = { name: "peek", preview: "" };
    research.record([
      { ...call, id: "P1", arguments: { n: 1 } },
      { ...call, id: "P2", arguments: { n: 2 }, parents: ["P1"] },
      { ...call, id: "P3", arguments: { n: 3 }, parents: ["P2"] },
      { ...call, id: "P4", arguments: { n: 4 } },
    ]);
    const written = research.toJSON();
    const without = { ...written, nodes: written.nodes.slice(1) };
    const text = ResearchContext.fromJSON(without).render();
    const shape = /0 stale\n\n\[\?\] P4.*\n.*\n\nOrphans \(.*\):\n\[\+\] P2.*\n.*\n {2}\[\?\] P3/;
    expect(text).toMatch(shape);
  });

  it("may be in a loop and is shown all the same", () => {
    const research = new ResearchContext(OPTIONS);
    const call = { name: "peek", preview: "" };
    for (let n = 1; n <= 3; n++) research.record([{ ...call, id: `P${n}`, arguments: { n } }]);
    const written = research.toJSON();
    const nodes = written.nodes.map((node, at) => ({
      ...node,
      parents: [`P${((at + 1) % 3) + 1}`],
    }));
    const text = ResearchContext.fromJSON({ ...written, nodes }).render();
    expect(text?.match(/\] P\d:/g)).toHaveLength(3);
  });

  it("is cut where fewer calls are kept now", () => {
    const research = new ResearchContext(OPTIONS);
    const call = { name: "peek", preview: "" };
    for (let n = 1; n <= 9; n++) research.record([{ ...call, arguments: { n } }]);
    const fewer = ResearchContext.fromJSON(research.toJSON(), { maxNodes: 2 });
    expect(fewer.nodes.map(({ id }) => id)).toEqual(["P8", "P9"]);
    expect(fewer.toJSON().collapsed.pending).toBe(7);
  });

  it("is read although no function has the prefix of a call any more", () => {
    const research = new ResearchContext();
    research.record([{ id: "P1", name: "peek", arguments: {}, preview: "" }]);
    const text = JSON.stringify(research).replaceAll("P1", "S1").replaceAll("peek", "run_shell");
    expect(ResearchContext.fromJSON(JSON.parse(text)).nodes).toMatchObject([{ id: "S1" }]);
  });

  it("is refused when a newer Cellar wrote it", () => {
    const future = { ...new ResearchContext().toJSON(), version: 2, more: true };
    expect(() => ResearchContext.fromJSON(future)).toThrow(
      expect.objectContaining({
        code: "DAMAGED",
        message: "the research context was written by a newer Cellar (version 2)",
        remedy: "Update Cellar; this one reads version 1.",
      }),
    );
  });

  it.each([
    ["nothing", undefined],
    ["a text", "{}"],
    ["another version", { version: 0 }],
    ["something more", { extra: 1 }],
    ["a wrong id", { nodes: [{ id: "no id" }] }],
    ["wrong counts", { collapsed: { analyzed: -1, pending: 0, stale: 0 } }],
    ["a strange prefix", { counters: { __proto__x: 1 } }],
  ])("is refused when it is %s", (_, change) => {
    const good = new ResearchContext().toJSON();
    const value = typeof change === "object" ? { ...good, ...change } : change;
    expect(() => ResearchContext.fromJSON(value)).toThrow(
      expect.objectContaining({ code: "DAMAGED" }),
    );
  });

  it("is refused when two calls have one id", () => {
    const research = new ResearchContext();
    research.record([{ id: "P1", name: "peek", arguments: {}, preview: "" }]);
    const written = research.toJSON();
    const nodes = [...written.nodes, ...written.nodes];
    expect(() => ResearchContext.fromJSON({ ...written, nodes })).toThrow(
      expect.objectContaining({ code: "DAMAGED" }),
    );
  });
});
