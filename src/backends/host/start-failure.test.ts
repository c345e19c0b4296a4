import { describe, expect, it } from "vitest";
import { resolveSettings } from "../../config.js";
import { CellarError, isCellarError } from "../../errors.js";
import { ISOLATION_CAUSES, OTHER_CAUSES } from "../../isolation/remedies.js";
import { refuseWithoutWalls } from "../session/minimum-isolation.js";
import { isRealTime } from "./machine.js";
import { explainStartFailure, unavailable } from "./start-failure.js";

const SETTINGS = resolveSettings({ minIsolation: "L3-" }, {});

function refusalOf(why: CellarError): CellarError {
  try {
    refuseWithoutWalls(SETTINGS, "L1", why);
  } catch (error) {
    if (isCellarError(error)) return error;
  }
  throw new Error("it was not refused");
}

describe("a sandbox that cannot be had", () => {
  it.each([...ISOLATION_CAUSES])("for %s is told with the fix first, and less last", (cause) => {
    const { code, remedy, details } = refusalOf(unavailable("so it is", cause));
    expect({ code, details }).toMatchObject({
      code: "SANDBOX_UNAVAILABLE",
      details: { cause, option: "minIsolation", level: "L1" },
    });
    expect(remedy?.indexOf("minIsolation")).toBeGreaterThan(20);
  });

  it.each([...OTHER_CAUSES])("for %s is not to be had by less isolation", (cause) => {
    const why = new CellarError("SANDBOX_UNAVAILABLE", "so it is", { details: { cause } });
    const refusal = refusalOf(why);
    expect(refusal).toBe(why);
    expect(JSON.stringify([refusal.message, refusal.remedy, refusal.details])).not.toMatch(
      /minIsolation/,
    );
  });
});

describe("a start that failed", () => {
  it.each<[string, string]>([
    ["ENOENT: no such file or directory, stat '/a/python/cellar_runner'", "PACKAGE_INCOMPLETE"],
    ["ENOSPC: no space left on device, write", "IO_ERROR"],
    ["EROFS: read-only file system, mkdir '/tmp/x'", "IO_ERROR"],
    ["EACCES: permission denied, mkdir '/tmp/x'", "IO_ERROR"],
    ["spawn /usr/bin/bwrap EMFILE", "START_FAILED"],
    ["spawn /usr/bin/bwrap EAGAIN", "START_FAILED"],
    ["spawn ENOMEM", "START_FAILED"],
    ["nobody knows why", "SANDBOX_UNAVAILABLE"],
  ])("by %s is %s, with a remedy that leaves the isolation alone", (said, code) => {
    const error = explainStartFailure(new Error(said));
    expect(error.code).toBe(code);
    expect(error.message).toContain(said);
    expect(error.remedy).toBeDefined();
    expect(JSON.stringify([error.remedy, error.details])).not.toMatch(/minIsolation/);
  });

  it("by a limit of time says what it said before", () => {
    const late = new CellarError("START_FAILED", "Python was not ready", { remedy: "Wait." });
    expect(explainStartFailure(late)).toBe(late);
  });

  it("by bubblewrap that may not make namespaces is about isolation", () => {
    const { code, details } = explainStartFailure(
      new Error("bwrap: No permissions to create new namespace"),
    );
    expect({ code, option: details.option }).toEqual({
      code: "SANDBOX_UNAVAILABLE",
      option: "minIsolation",
    });
  });
});

describe("the scheduling policy of a process", () => {
  const statOf = (policy: number) =>
    `1 (a) b) S 1 ${Array.from({ length: 36 }, () => "0").join(" ")} ${policy} 0 0`;

  it.each([
    [0, false],
    [1, true],
    [2, true],
    [3, false],
    [5, false],
    [6, true],
  ])("%d", (policy, isFirst) => {
    expect(isRealTime(statOf(policy))).toBe(isFirst);
  });
});
