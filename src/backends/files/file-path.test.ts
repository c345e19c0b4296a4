import { describe, expect, it } from "vitest";
import { isCellarError } from "../../errors.js";
import { MAX_DEPTH, parseFilePath, shownPath, systemPath } from "./file-path.js";

describe("a path below the workspace", () => {
  it.each([
    ["empty", ""],
    ["absolute", "/etc/passwd"],
    ["beside it", "/workspaces/a"],
    ["out of it", "/workspace/../etc/passwd"],
    ["the workspace itself", "/workspace/"],
    ["twice absolute", "/workspace//etc/passwd"],
    ["parent", "a/../../b"],
    ["only the parent", ".."],
    ["here", "./a"],
    ["empty part", "a//b"],
    ["slash at the end", "a/"],
    ["NUL", "a\0b"],
    ["a long name", "n".repeat(256)],
    ["a long name in bytes", "é".repeat(128)],
    ["a long path", Array.from({ length: 32 }, () => "n".repeat(100)).join("/")],
    ["deep", Array.from({ length: MAX_DEPTH + 1 }, () => "d").join("/")],
    ["half a character", "a\ud800b"],
    ["not text", 7 as unknown as string],
    ["nothing", undefined as unknown as string],
  ])("is refused: %s", (_, path) => {
    const error = catchError(() => parseFilePath(path));
    expect(isCellarError(error, "INVALID_INPUT") && error.remedy).toMatch(/below \/workspace/);
    expect((error as Error).message.length).toBeLessThan(400);
  });

  it("may begin as cells name it", () => {
    expect(parseFilePath("/workspace/data/a.csv")).toEqual(["data", "a.csv"]);
    expect(parseFilePath("/workspace/workspace/a")).toEqual(["workspace", "a"]);
  });

  it("may have dots, spaces, newlines and any script", () => {
    for (const path of ["a.b/..c", "a b\nc", "über/数据.csv", "...", "-rf", "a\\b"]) {
      expect(shownPath(parseFilePath(path).join("/"))).toBe(path);
    }
  });

  it("gives every name of bytes as text and takes it back", () => {
    const names = [
      [0xff, 0x0a, 0x41],
      [0xc3, 0xa9, 0xc3],
      [0xed, 0xa0, 0x80],
      [0xf0, 0x9f, 0x98, 0x80, 0xfe],
    ].map((bytes) => Buffer.from(bytes));
    const shown = names.map((name) => shownPath(name.toString("latin1")));
    expect(shown).toEqual(["\udcff\nA", "é\udcc3", "\udced\udca0\udc80", "😀\udcfe"]);
    expect(shown.map((path) => systemPath(parseFilePath(path)[0] ?? ""))).toEqual(names);
  });
});

function catchError(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
