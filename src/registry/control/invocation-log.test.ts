import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { ToolRegistry } from "../registry.js";
import { sizeOf } from "../value-size.js";
import { shortened } from "./invocation-log.js";

describe("what is kept of arguments", () => {
  it("is little, however they are built", () => {
    const texts = Array.from({ length: 20 }, () => "x".repeat(400));
    const wide = Array.from({ length: 20 }, () => Array.from({ length: 20 }, () => texts));
    const keys = Object.fromEntries(texts.map((text, n) => [text + n, { [text]: texts }]));
    for (const given of [wide, keys, { a: wide, b: keys }]) {
      expect(JSON.stringify(shortened(given)).length).toBeLessThan(20_000);
    }
    expect(shortened({ big: 2n ** 80n, text: "short" })).toEqual({
      big: "1208925819614629174706176",
      text: "short",
    });
  });

  it("does not keep long texts in memory", async () => {
    await using registry = await ToolRegistry.open({
      tools: {
        take: { execute: () => null },
        fail: {
          execute: ({ text }: { text: string }) => {
            throw new Error(text);
          },
        },
      },
    });
    const before = keptBytes();
    for (let n = 0; n < 100; n++) {
      const text = Buffer.alloc(4_000_000, 97 + (n % 26)).toString("latin1");
      await registry.call("take", { text });
      await registry.call("fail", { text }).catch(() => {});
    }
    expect(registry.log.total).toBe(200);
    // All of them together would be 400 MB.
    expect(keptBytes() - before).toBeLessThan(100_000_000);
  });
});

function keptBytes(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc()");
  const { external, heapUsed } = process.memoryUsage();
  return heapUsed + external;
}

it("the size of a result counts what is in maps and sets, and not each place of an empty list", () => {
  const text = "x".repeat(100);
  expect(sizeOf(new Map([["key", [text]]]), 1_000)).toBeGreaterThan(100);
  expect(sizeOf(new Set([text]), 1_000)).toBeGreaterThan(100);
  expect(sizeOf(new ArrayBuffer(2_000), 1_000)).toBeGreaterThan(1_000);
  const empty: unknown[] = [];
  empty.length = 4_000_000_000;
  expect(sizeOf(empty, 1_000)).toBeGreaterThan(1_000);
});
