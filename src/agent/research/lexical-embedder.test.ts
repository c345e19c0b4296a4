import { describe, expect, it } from "vitest";
import { cosine } from "./embedder.js";
import { LexicalEmbedder } from "./lexical-embedder.js";

const embedder = new LexicalEmbedder();

async function likeness(one: string, other: string): Promise<number> {
  const [a = new Float32Array(), b = new Float32Array()] = await embedder.embed([one, other]);
  return cosine(a, b);
}

describe("LexicalEmbedder", () => {
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
