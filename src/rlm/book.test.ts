import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../test/support/native-runtime.js";
import { shutdown } from "../backends/shared.js";
import { rlm } from "./rlm.js";

const demo = new URL("../../test/rlm/moby-dick/", import.meta.url);
const { query, config } = JSON.parse(readFileSync(new URL("moby-dick.json", demo), "utf8"));
const book = brotliDecompressSync(readFileSync(new URL("moby-dick.txt.br", demo))).toString();
const replay = new URL("moby-dick.cassette", demo).pathname;
const { runtime, unavailable } = await openNativeRuntime();

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  await shutdown();
});

describe("a recorded run over a whole book", () => {
  it.each(["native", "pyodide"] as const)(
    "is the same on %s",
    async (backend) => {
      const minIsolation = unavailable === undefined ? undefined : "L0";
      const chosen = { ...config, backend, minIsolation };
      const result = await rlm<{ chapter: number; ship: string }[]>({
        query,
        context: book,
        replay,
        config: chosen,
      });
      expect(result.error?.message).toBeUndefined();
      expect(result).toMatchObject({ status: "answered", turns: 5, usage: { calls: 151 } });
      expect(result.output?.map(({ chapter }) => chapter)).toEqual([
        52, 54, 71, 81, 91, 100, 115, 128, 131,
      ]);
      const root = result.trace.filter(({ type, depth }) => type === "turn.started" && depth === 0);
      expect(root).toHaveLength(5);
      expect([...result.usageByDepth.keys()]).toEqual([0, 1]);
    },
    120_000,
  );

  it("is told apart from one over a book with another word in it", async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    const changed = book.replace("CHAPTER 115. The Pequod Meets", "CHAPTER 115. The Pequod Finds");
    expect(changed).not.toBe(book);
    const result = await rlm({ query, context: changed, replay, config });
    expect(result).toMatchObject({ status: "failed", error: { code: "CONFLICT" } });
    expect(result.error?.message).toMatch(/- 115 [^\n]*Meets[\s\S]*\+ 115 [^\n]*Finds/);
  }, 60_000);
});
