import { describe, expect, it } from "vitest";
import { EarlyAnswer } from "./interpreter-question.js";

describe("an answer that was asked for early", () => {
  it("is for the interpreter that was asked, once", async () => {
    const early = new EarlyAnswer(process.execPath, {});
    expect(early.take("/another/python")).toBeUndefined();
    // Node takes neither -I nor the question.
    await expect(early.take(process.execPath)).rejects.toThrow();
    expect(early.take(process.execPath)).toBeUndefined();
  });

  it("that nobody takes fails silently", async () => {
    new EarlyAnswer("/no/such/python", {});
    await new Promise((resolve) => setTimeout(resolve, 50));
  });
});
