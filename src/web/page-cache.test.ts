import { describe, expect, it } from "vitest";
import { PageCache } from "./page-cache.js";
import type { FoundContent } from "./web-page.js";

const textOf = (text: string): FoundContent => ({
  kind: "text",
  url: "http://a/",
  title: undefined,
  text,
  isTruncated: false,
});

describe("the cache of pages", () => {
  it("forgets what is old, by its own limit or the server's", () => {
    let now = 0;
    const cache = new PageCache({ maxBytes: 100_000, maxSeconds: 10, now: () => now });
    cache.put("a", textOf("a"), "");
    cache.put("b", textOf("b"), "public, max-age=5");
    cache.put("c", textOf("c"), "max-age=9999");
    now = 5_000;
    expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([
      textOf("a"),
      undefined,
      textOf("c"),
    ]);
    now = 10_000;
    expect([cache.get("a"), cache.get("c")]).toEqual([undefined, undefined]);
    expect(cache.bytes).toBe(0);
  });

  it("holds no more than its bytes, and drops what was not used for longest", () => {
    const cache = new PageCache({ maxBytes: 10_000, maxSeconds: 10 });
    for (const name of ["a", "b", "c"]) cache.put(name, textOf(name.repeat(1000)), "");
    cache.get("a");
    cache.put("d", textOf("d".repeat(1000)), "");
    expect(["a", "b", "c", "d"].map((name) => cache.get(name) !== undefined)).toEqual([
      true,
      false,
      true,
      true,
    ]);
    expect(cache.bytes).toBeLessThanOrEqual(10_000);
    cache.put("e", textOf("e".repeat(100_000)), "");
    expect(cache.get("e")).toBeUndefined();
    expect(cache.get("d")).toBeDefined();
  });

  it("counts many small pages too, and one that comes again once", () => {
    const cache = new PageCache({ maxBytes: 50_000, maxSeconds: 10 });
    for (let page = 0; page < 10_000; page += 1) cache.put(`page ${page}`, textOf(""), "");
    expect(cache.bytes).toBeLessThanOrEqual(50_000);
    const other = new PageCache({ maxBytes: 50_000, maxSeconds: 10 });
    for (let time = 0; time < 5; time += 1) other.put("a", textOf("text"), "");
    expect(other.bytes).toBeLessThan(2_000);
  });

  it("gives up an old page when the new one must not be kept", () => {
    const cache = new PageCache({ maxBytes: 50_000, maxSeconds: 10 });
    cache.put("a", textOf("old"), "");
    cache.put("a", textOf("new"), "no-store");
    expect(cache.get("a")).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });
});
