import { afterAll, describe, expect, it } from "vitest";
import { createSandbox, shutdown } from "../../backends/select.js";
import { playBook } from "./book.js";

afterAll(shutdown);

describe("the book of the demo", () => {
  it("is played to its end", async () => {
    await using sandbox = await createSandbox({ preload: "none" });
    const told = await playBook(sandbox.info);
    expect(told).toMatch(/1\.2 million characters\)\? A replayed run: 5 turns, 151 calls → \w+/);
  }, 120_000);
});
