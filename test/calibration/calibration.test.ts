import { describe, expect, it } from "vitest";
import { LexicalEmbedder } from "../../src/agent/research/lexical-embedder.js";
import { calibrate, score } from "./tool/calibration.js";
import { CALIBRATION_PAIRS } from "./tool/pairs.js";

const embedder = new LexicalEmbedder();

describe("the lexical embedder", () => {
  it("has the threshold that the calibration finds", async () => {
    const found = await calibrate(embedder);
    expect(found.threshold).toBe(embedder.threshold);
    expect(found).toEqual(await score(embedder));
    expect(found.f1).toBeGreaterThan(0.9);
  });

  it("does well with a threshold found on other pairs", async () => {
    const halves = [0, 1].map((rest) => CALIBRATION_PAIRS.filter((_, index) => index % 2 === rest));
    const [even = [], odd = []] = halves;
    for (const [seen, unseen] of [
      [even, odd],
      [odd, even],
    ] as const) {
      const { threshold } = await calibrate(embedder, seen);
      const embed = embedder.embed.bind(embedder);
      const { f1 } = await score({ name: "half", threshold, embed }, unseen);
      expect(f1).toBeGreaterThan(0.8);
    }
  });
});

describe("calibrate", () => {
  const pairs = [
    ["1", "0.9", true],
    ["1", "0.6", true],
    ["1", "0.4", false],
    ["1", "0.1", false],
  ] as const;
  /** The cosine of "1" and "0.6" is 0.6. */
  const embed = async (texts: readonly string[]) =>
    texts.map((text) => Float32Array.of(Number(text), Math.sqrt(1 - Number(text) ** 2)));

  it("finds the place between the two kinds", async () => {
    const perfect = { threshold: 0.5, f1: 1, precision: 1, recall: 1 };
    expect(await calibrate({ embed }, pairs)).toEqual(perfect);
  });

  it("tells how good it is where the kinds overlap", async () => {
    const mixed = [...pairs, ["1", "0.8", false]] as const;
    const { threshold, f1, precision, recall } = await calibrate({ embed }, mixed);
    expect([threshold, f1, precision, recall]).toEqual([0.5, 0.8, 2 / 3, 1]);
  });

  it("wants related pairs", async () => {
    const unrelated = pairs.filter(([, , isRelated]) => !isRelated);
    await expect(calibrate({ embed }, unrelated)).rejects.toThrow(/related/);
  });
});
