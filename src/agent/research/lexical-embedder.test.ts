import { describe, expect, it } from "vitest";
import { calibrate, score } from "./calibration.js";
import { CALIBRATION_PAIRS } from "./calibration-pairs.js";
import { cosine } from "./embedder.js";
import { LexicalEmbedder } from "./lexical-embedder.js";

const embedder = new LexicalEmbedder();

async function likeness(one: string, other: string): Promise<number> {
  const [a = new Float32Array(), b = new Float32Array()] = await embedder.embed([one, other]);
  return cosine(a, b);
}

describe("LexicalEmbedder", () => {
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

  it("gives vectors of one length, and the same for the same text", async () => {
    const vectors = await embedder.embed(["a timeout", "", "🦕 𝕏 变量", "a timeout"]);
    expect(new Set(vectors.map(({ length }) => length)).size).toBe(1);
    expect(vectors[3]).toEqual(vectors[0]);
    expect(vectors[1]?.every((value) => value === 0)).toBe(true);
    const lengths = vectors.map((vector) => Math.hypot(...vector));
    expect(lengths.map((length) => Math.round(length * 1e5) / 1e5)).toEqual([1, 0, 1, 1]);
  });

  it("finds other forms of a word, in any script, and not words that everybody uses", async () => {
    expect(await likeness("a connection timeout", "Connection timeouts")).toBeGreaterThan(
      embedder.threshold,
    );
    expect(await likeness("数据库连接超时", "连接数据库失败")).toBeGreaterThan(0.3);
    expect(await likeness("数据库连接超时", "鲸鱼")).toBeLessThan(0.1);
    expect(await likeness("error in the kitchen", "error in the orchard")).toBeLessThan(
      embedder.threshold,
    );
    expect(await likeness("anything", "")).toBe(0);
  });

  it("ends when it is not wanted any more", async () => {
    await expect(embedder.embed(["a"], AbortSignal.abort())).rejects.toThrow();
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
    await expect(calibrate({ embed }, unrelated)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });
});
