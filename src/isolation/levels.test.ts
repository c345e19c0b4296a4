import { describe, expect, it } from "vitest";
import {
  assess,
  ISOLATION_LEVELS,
  type IsolationLevel,
  meets,
  PROBES,
  type ProbeFacts,
  type ProbeName,
} from "./levels.js";

const EVERYTHING_BUT_A_KERNEL = Object.keys(PROBES).filter((name) => name !== "guest-kernel");

function facts(names: readonly string[]): ProbeFacts {
  return Object.fromEntries(names.map((name) => [name, { ok: true, detail: "seen" }]));
}

function without(...names: ProbeName[]): ProbeFacts {
  return facts(EVERYTHING_BUT_A_KERNEL.filter((one) => !names.some((name) => name === one)));
}

describe("levels", () => {
  it("are ordered from none to the strongest", () => {
    for (const [index, level] of ISOLATION_LEVELS.entries()) {
      for (const [other, minimum] of ISOLATION_LEVELS.entries()) {
        expect(meets(level, minimum)).toBe(index >= other);
      }
    }
    expect(meets("L3-", "L3")).toBe(false);
  });

  it.each<[string, ProbeFacts, IsolationLevel]>([
    ["nothing at all", {}, "L0"],
    ["limits alone", facts(["limits"]), "L1"],
    ["no walls but Landlock", without("outer-wall", "inner-wall"), "L2"],
    ["no walls and no Landlock", without("outer-wall", "landlock"), "L1"],
    ["no cgroups", without("cgroup.memory", "cgroup.pids"), "L3-"],
    ["one cgroup of two", without("cgroup.pids"), "L3-"],
    ["no Landlock, which walls do not need", without("landlock"), "L3"],
    ["both walls and cgroups", without(), "L3"],
    ["a kernel around it too", { ...without(), ...facts(["guest-kernel"]) }, "L4"],
    [
      "a kernel around no cgroups",
      { ...without("cgroup.pids"), ...facts(["guest-kernel"]) },
      "L3-",
    ],
    ["walls without limits", without("limits"), "L0"],
  ])("%s", (_, seen, level) => {
    expect(assess(seen).level).toBe(level);
  });

  it.each<ProbeName>(["canary", "network", "seccomp", "host-uid"])(
    "claim no confinement where %s fails, whatever else holds",
    (name) => {
      const seen = { ...without(), ...facts(["guest-kernel"]) };
      const report = assess({ ...seen, [name]: { ok: false, detail: "leaked" } });
      expect(report.level).toBe("L1");
      expect(report.missing).toEqual([name]);
    },
  );

  it("are reported with every check, its detail and its fix", () => {
    const report = assess({
      ...without("cgroup.memory"),
      "cgroup.pids": { ok: false, detail: "read-only", fix: "mount it writable" },
    });
    expect(report.claims).toContain("without cgroup limits");
    expect(report.missing).toEqual(["cgroup.memory", "cgroup.pids"]);
    expect(report.checks.map(({ name }) => name)).toEqual(Object.keys(PROBES));
    expect(report.checks).toContainEqual({
      name: "cgroup.pids",
      ok: false,
      detail: "read-only",
      fix: "mount it writable",
    });
    expect(report.checks).toContainEqual({
      name: "cgroup.memory",
      ok: false,
      detail: "not probed",
    });
  });
});
