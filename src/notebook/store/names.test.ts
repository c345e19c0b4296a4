import { describe, expect, it } from "vitest";
import { checkId, checkName, folderName, nameOfFolder } from "./names.js";

const GOOD = ["a", "A1", "ann@example.org", "x_y-z.1", "_", "@x", "0", "a".repeat(64), "console"];

const BAD: readonly unknown[] = [
  "",
  ".",
  "..",
  "../x",
  "a/b",
  "a\\b",
  "/etc",
  "C:",
  ".hidden",
  "-flag",
  "dot.",
  "a b",
  " a",
  "a\n",
  "a\u0000",
  "a\u001b[1m",
  "a%2e",
  "a+b",
  "\u0430nn",
  "ann\u200b",
  "ﬁle",
  "é",
  "e\u0301",
  "a".repeat(65),
  "x".repeat(1_000_000),
  "con",
  "NUL",
  "Com1.txt",
  "lpt9",
  undefined,
  null,
  7,
  {},
  ["a"],
  { toString: () => "a" },
];

describe("names", () => {
  it("are taken as they are", () => {
    for (const name of GOOD) expect(checkName("user", name)).toBe(name);
    expect(checkId({ user: "Ann", session: "s.1" })).toEqual({ user: "Ann", session: "s.1" });
  });

  it("are refused where they could mean something else, with the rule", () => {
    for (const name of BAD) {
      expect(() => checkName("session", name), JSON.stringify(name)?.slice(0, 40)).toThrow(
        expect.objectContaining({
          code: "INVALID_INPUT",
          remedy: expect.stringContaining("1 to 64 letters"),
        }),
      );
    }
  });

  it("do not fill an error with what they are", () => {
    const message = (name: string) => {
      try {
        return checkName("user", name);
      } catch (error) {
        return String(error);
      }
    };
    expect(message("x".repeat(1_000_000)).length).toBeLessThan(200);
    expect(message("a\u001b[31m")).not.toContain("\u001b");
  });

  it("have folders that differ, also where capitals do not count", () => {
    const names = ["ann", "Ann", "aNN", "ANN"];
    expect(new Set(names.map((name) => folderName(name).toLowerCase())).size).toBe(names.length);
    for (const name of [...GOOD, ...names]) {
      expect(nameOfFolder("user", folderName(name))).toBe(name);
    }
    for (const folder of ["Ann", "+1", "a+", "++a", ".deleted-1", "con", "+con"]) {
      const name = nameOfFolder("user", folder);
      expect(name === undefined || folderName(name) === folder).toBe(true);
    }
    expect(nameOfFolder("user", "Ann")).toBeUndefined();
  });
});
