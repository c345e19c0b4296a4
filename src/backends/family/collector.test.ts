import { describe, expect, it } from "vitest";
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

  it("is bounded whatever the sender says", () => {
    const collector = new Collector({}, 10);
    for (let index = 0; index < 1000; index += 1) {
      collector.text(output("stdout", "x".repeat(1000), index));
      collector.display({ step: 1, seq: index, data: {}, attachments: [], metadata: {} }, []);
    }
    expect(collector.whole("stdout").length).toBeLessThan(2000);
    expect(collector.outputs().length).toBeLessThan(600);
  });

  it("is handed out line by line", () => {
    expect(splitLines("a\nb\r\nc\rd")).toEqual(["a\n", "b\r\n", "c\r", "d"]);
    expect(splitLines("")).toEqual([]);
    expect(splitLines("\n\n")).toEqual(["\n", "\n"]);
  });
});
