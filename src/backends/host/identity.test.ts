import { describe, expect, it } from "vitest";
import { identityCount, sandboxIdentity } from "./identity.js";
import { SANDBOX_IDENTITY } from "./run-folder.js";

const EVERYBODY = "         0          0 4294967295\n";
const ROOTLESS = "         0       1000          1\n         1     100000      65536\n";

describe("whom root becomes", () => {
  it("is an id that nobody else has, where all ids exist", () => {
    expect(sandboxIdentity(EVERYBODY, EVERYBODY)).toEqual(SANDBOX_IDENTITY);
  });

  it("is the highest id of a user namespace that has fewer", () => {
    expect(sandboxIdentity(ROOTLESS, "0 100000 65536\n")).toEqual({ uid: 65_536, gid: 65_535 });
  });

  it("is nobody where root is alone", () => {
    expect(sandboxIdentity("0 1000 1\n", "0 1000 1\n")).toBeUndefined();
    expect(sandboxIdentity(ROOTLESS, "0 1000 1\n")).toBeUndefined();
    expect(sandboxIdentity("", "")).toBeUndefined();
  });

  it("has a range of ids for sessions where all of it is mapped, else the one", () => {
    expect(identityCount(SANDBOX_IDENTITY, EVERYBODY, EVERYBODY)).toBe(65_536);
    expect(identityCount(SANDBOX_IDENTITY, EVERYBODY, "0 0 1900000002\n")).toBe(1);
    expect(identityCount({ uid: 65_536, gid: 65_535 }, ROOTLESS, "0 100000 65536\n")).toBe(1);
  });
});
