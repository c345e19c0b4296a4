import { describe, expect, it } from "vitest";
import { type Address, addressOf, partOf, uriOf } from "./addresses.js";

const session = "Sales_2@x.y-z";
const cell = "2f1e9a6c-0000-4000-8000-1234567890ab";

const ADDRESSES: readonly Address[] = [
  { kind: "notebook", session },
  { kind: "ipynb", session },
  { kind: "cell", session, cell },
  { kind: "output", session, cell, output: 12, isText: false },
  { kind: "output", session, cell, output: 0, isText: true },
  { kind: "file", session, path: "a.csv" },
  { kind: "file", session, path: "data/ä ö%2F?#&+.txt" },
  { kind: "file", session, path: "no\udcff-utf8/😀" },
  { kind: "file", session, path: "files/notebook.ipynb" },
];

/** None of them names anything, or anything of another user. */
const HOSTILE: readonly string[] = [
  "",
  "notebook://",
  "notebook://cell/0/image/0",
  "notebook://session/",
  "notebook://session/..",
  "notebook://session/../bob/diary",
  "notebook://session/%2e%2e/files/x",
  "notebook://session/bob%2Fdiary/files/x",
  "notebook://session/a/files/",
  "notebook://session/a/files/../../b/files/x",
  "notebook://session/a/files/..%2F..%2Fetc%2Fpasswd",
  "notebook://session/a/files/%2e%2e/x",
  "notebook://session/a/files//etc/passwd",
  "notebook://session/a/files/%2Fetc%2Fpasswd",
  "notebook://session/a/files/x%00.txt",
  "notebook://session/a/files/x%zz",
  "notebook://session/a/files/x%2Fy",
  "notebook://session/a/cell/../../b/cell/0",
  "notebook://session/a/cell/0/output/-1",
  "notebook://session/a/cell/0/output/99999999999",
  "notebook://session/a/cell/0/output/0/text/more",
  "notebook://session/a\n/cell/0",
  "file:///etc/passwd",
  `notebook://session/a/files/${"x".repeat(20_000)}`,
];

describe("addresses", () => {
  it.each(ADDRESSES)("comes back from its URI: %j", (address) => {
    const uri = uriOf(address);
    expect(addressOf(uri)).toEqual(address);
    expect(new URL(uri).href).toBe(uri);
  });

  it.each(HOSTILE)("are not made of %j", (uri) => {
    expect(() => addressOf(uri)).toThrow(expect.objectContaining({ code: "NOT_FOUND" }));
  });

  it("may ask for a part of what they name", () => {
    const whole = "notebook://session/a/files/x%3Foffset=1&length=2";
    expect(partOf(whole)).toEqual({ whole, part: undefined });
    const part = { offset: 5, length: 10 };
    expect(partOf(`${whole}?offset=5&length=10`)).toEqual({ whole, part });
    for (const odd of ["?offset=-1&length=1", "?offset=1", "?offset=1&length=0", "?length=1"]) {
      const { whole: uri } = partOf(`notebook://session/a${odd}`);
      expect(() => addressOf(uri)).toThrow(expect.objectContaining({ code: "NOT_FOUND" }));
    }
  });

  it("take a name whose @ was escaped on the way", () => {
    expect(addressOf("notebook://session/a%40b")).toEqual({ kind: "notebook", session: "a@b" });
  });
});
