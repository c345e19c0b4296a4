import { describe, expect, it } from "vitest";
import { CellarError } from "../errors.js";
import { nearest, shownBytes, temporaryTrouble } from "./temporary-trouble.js";

function failing(code: string): Error {
  return Object.assign(new Error(`${code}: refused`), { code });
}

describe("what could not be written to the temporary folder", () => {
  it.each([
    ["ENOSPC", /no space left \(.* in all, .* free\)|no inodes left/, "with more space"],
    ["EDQUOT", /quota/, "with more space"],
    ["EROFS", /read-only/, "that can be written"],
    ["EACCES", /may not write/, "that can be written"],
    ["ENOENT", /no such folder/, "that is there"],
    ["EMFILE", /too many files/, "ulimit -n"],
    ["EIO", /EIO: refused/, "that can be written"],
  ])("for %s is told with the place and what to do", (code, reason, remedy) => {
    const error = temporaryTrouble("the context", "/tmp/none/of/it", failing(code));
    expect(error.code).toBe("IO_ERROR");
    expect(error.message).toMatch(/^the context could not be written to \/tmp\/none\/of\/it: /);
    expect(error.message).toMatch(reason);
    expect(error.remedy).toContain(remedy);
    expect(error.details).toMatchObject({ errno: code, cause: "temporary-folder" });
  });

  it("stays what it is where it was told already", () => {
    const told = new CellarError("TOO_LARGE", "too much");
    expect(temporaryTrouble("the context", "/tmp", told)).toBe(told);
  });

  it("is measured in units that people read", () => {
    expect([0, 512, 65_536, 1.5 * 1024 ** 2, 74 * 1024 ** 3].map(shownBytes)).toEqual([
      "0 bytes",
      "512 bytes",
      "64 KB",
      "1.5 MB",
      "74 GB",
    ]);
  });

  it("is looked at in the nearest folder that is there", () => {
    expect(nearest("/nonexistent/a/b")).toBe("/");
  });
});
