import { describe, expect, it } from "vitest";
import { completeAt, completeFor } from "./completion.js";

describe("what a session offers at the cursor", () => {
  it("holds nothing that a terminal would obey, and lies within the text", async () => {
    const matches = [
      "good",
      "a\u001b[2J",
      "b\u009b31m",
      "c\nd",
      "e\u202ef",
      "g\u2028h",
      "été 日本",
    ];
    const found = await completeAt("x = go", 6, async () => ({ matches, start: 900, end: 400 }));
    expect(found).toEqual({ matches: ["good", "été 日本"], start: 6, end: 6 });
  });

  it("counts as JavaScript does outside, and in code points inside", async () => {
    const asked: unknown[] = [];
    const complete = (code: string, cursor: number) =>
      completeAt(code, cursor, async (at) => {
        asked.push(at);
        return { matches: ["name"], start: 2, end: at.cursor };
      });
    expect(await complete("😀 na", 5)).toEqual({ matches: ["name"], start: 3, end: 5 });
    expect(asked).toEqual([{ code: "😀 na", cursor: 4 }]);
    expect(await completeFor({ complete }, { code: "😀 na", cursor: 4 })).toEqual({
      matches: ["name"],
      start: 2,
      end: 4,
    });
  });

  it("is not asked for with what is no place in a text", async () => {
    const never = async () => {
      throw new Error("asked");
    };
    for (const cursor of [-1, 2, 0.5, Number.NaN]) {
      await expect(completeAt("x", cursor, never)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    await expect(completeAt(5 as never, 0, never)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    const long = "x".repeat(9 * 1024 * 1024);
    expect((await completeAt(long, 3, never)).matches).toEqual([]);
  });
});
