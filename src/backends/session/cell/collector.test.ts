import { describe, expect, it } from "vitest";
import type { Params } from "../../../protocol/messages.js";
import { Collector, splitLines } from "./collector.js";

const output = (stream: "stdout" | "stderr", text: string, seq: number) => ({
  branch: 0,
  generation: 0,
  step: 1,
  stream,
  text,
  seq,
});

describe("a cell's output", () => {
  it("is ordered by barriers, not by arrival", () => {
    const collector = new Collector({}, 100);
    const picture = { step: 1, seq: 3, data: { "text/plain": "<fig>" }, metadata: {} };
    const attachments = [{ mime: "image/png", bytes: 3 }];
    collector.display({ ...picture, attachments }, [Buffer.from("png")]);
    collector.text(output("stdout", "after\n", 3));
    collector.text(output("stderr", "b\n", 2));
    collector.text(output("stdout", "a\n", 1));
    expect(collector.outputs().map((each) => each.type)).toEqual([
      "stdout",
      "stderr",
      "display",
      "stdout",
    ]);
  });

  it("is counted in characters, as in Python", () => {
    for (const character of ["a", "é", "😀"]) {
      const collector = new Collector({}, 5_000);
      for (let index = 0; index < 5; index += 1) {
        collector.text(output("stdout", character.repeat(1000), index));
      }
      expect(collector.whole("stdout")).toBe(character.repeat(5_000));
      collector.text(output("stdout", character.repeat(5_000), 9));
      expect([...collector.whole("stdout")]).toHaveLength(6_024);
    }
  });

  it("is bounded whatever the sender says", () => {
    const collector = new Collector({}, 10);
    for (let index = 0; index < 1000; index += 1) {
      collector.text(output("stdout", "x".repeat(1000), index));
      collector.display({ step: 1, seq: index, data: {}, attachments: [], metadata: {} }, []);
    }
    expect(collector.whole("stdout").length).toBeLessThan(2000);
    expect(collector.outputs().length).toBeLessThan(600);
  });

  const display = (seq: number, more: Partial<Params<"display">> = {}): Params<"display"> => ({
    step: 1,
    seq,
    data: { "text/plain": `d${seq}` },
    attachments: [],
    metadata: {},
    ...more,
  });
  const texts = (collector: Collector) =>
    collector
      .outputs()
      .map((each) => (each.type === "display" ? each.data["text/plain"] : each.text));

  it("loses what was cleared: at once, or when something else is shown", () => {
    const collector = new Collector({}, 100);
    collector.text(output("stdout", "a", 0));
    collector.display(display(1), []);
    collector.clear({ step: 1, seq: 2, wait: false });
    expect(texts(collector)).toEqual([]);
    // It was written before, and came later by the other link.
    collector.text(output("stdout", "late", 1));
    collector.text(output("stdout", "b", 2));
    collector.clear({ step: 1, seq: 3, wait: true });
    expect(texts(collector)).toEqual(["b"]);
    collector.display(display(4), []);
    expect(texts(collector)).toEqual(["d4"]);
    collector.clear({ step: 1, seq: 5, wait: true });
    collector.text(output("stderr", "c", 5));
    expect(texts(collector)).toEqual(["c"]);
    expect([collector.whole("stdout"), collector.whole("stderr")]).toEqual(["", "c"]);
    collector.text(output("stdout", "f", 8));
    collector.clear({ step: 1, seq: 7, wait: true });
    expect(texts(collector)).toEqual(["f"]);
    collector.clear({ step: 1, seq: 9, wait: true });
    collector.end();
    expect(texts(collector)).toEqual([]);
  });

  it("has room for displays again when others were cleared", () => {
    const collector = new Collector({}, 10);
    for (let seq = 0; seq < 2000; seq += 2) {
      collector.clear({ step: 1, seq, wait: true });
      collector.display(display(seq + 1), []);
    }
    expect(texts(collector)).toEqual(["d1999"]);
    for (let seq = 2000; seq < 20_000; seq += 1) collector.clear({ step: 1, seq, wait: true });
    expect(texts(collector)).toEqual(["d1999"]);
  });

  it("shows the last of an id in the place of the first", () => {
    const seen: unknown[] = [];
    const collector = new Collector({ onDisplay: ({ isUpdate }) => seen.push(isUpdate) }, 10);
    collector.display(display(1, { display_id: "a" }), []);
    collector.text(output("stdout", "b", 1));
    for (let seq = 2; seq < 1000; seq += 1) {
      collector.display(display(seq, { display_id: "a", role: "update" }), []);
    }
    collector.display(display(1000, { display_id: "unknown", role: "update" }), []);
    collector.display(display(1001, { role: "update" }), []);
    expect(texts(collector)).toEqual(["d999", "b"]);
    expect(collector.outputs()[0]).toMatchObject({ displayId: "a", isUpdate: true });
    expect(seen.length).toBe(1001);
    collector.display(display(1002, { display_id: "a" }), []);
    expect(texts(collector)).toEqual(["d1002", "b", "d1002"]);
  });

  it("hands on so much of what is cleared and updated, and has the last of it", () => {
    const seen: unknown[] = [];
    const collector = new Collector({ onDisplay: (shown) => seen.push(shown) }, 100);
    const big = [Buffer.alloc(8 * 1024 * 1024)];
    const attachments = [{ mime: "image/png", bytes: big[0]?.length ?? 0 }];
    for (let index = 1; index <= 40; index += 1) {
      collector.clear({ step: 1, seq: 2 * index - 1, wait: true });
      collector.display(display(2 * index, { attachments, display_id: `${index}` }), big);
    }
    expect([seen.length, texts(collector)]).toEqual([31, ["d80"]]);
    collector.display(display(81, { display_id: "40", role: "update" }), []);
    expect([seen.length, texts(collector)]).toEqual([31, ["d81"]]);
  });

  it("counts what an update shows in several places for each of them", () => {
    const collector = new Collector({}, 100);
    const picture = (size: number) => {
      const attachments = [{ mime: "image/png", bytes: size }];
      return (more: Partial<Params<"display">>) =>
        collector.display(display(1, { attachments, ...more }), [Buffer.alloc(size)]);
    };
    const sizes = () =>
      collector
        .outputs()
        .map((shown) => (shown.type === "display" ? shown.binary["image/png"]?.length : 0));
    const [small, large] = [picture(10), picture(10 * 1024 * 1024)];
    for (let index = 0; index < 8; index += 1) small({ display_id: "a" });
    large({ display_id: "a", role: "update" });
    expect(sizes()).toEqual(Array(8).fill(10));
    large({ display_id: "b" });
    for (let index = 0; index < 10; index += 1) large({ display_id: "b", role: "update" });
    expect(sizes().at(-1)).toBe(10 * 1024 * 1024);
  });

  it("tells what came after the value or the error", () => {
    const collector = new Collector({}, 100);
    collector.text(output("stdout", "a", 1));
    collector.text(output("stdout", "b", 2));
    collector.display(display(3), []);
    collector.end(2);
    expect(collector.outputs()).toMatchObject([
      { type: "stdout", text: "a" },
      { type: "stdout", text: "b", afterResult: true },
      { type: "display", afterResult: true },
    ]);
    expect(collector.outputs()[0]).not.toHaveProperty("afterResult");
  });

  it("is handed out line by line", () => {
    expect(splitLines("a\nb\r\nc\rd")).toEqual(["a\n", "b\r\n", "c\r", "d"]);
    expect(splitLines("")).toEqual([]);
    expect(splitLines("\n\n")).toEqual(["\n", "\n"]);
  });
});
