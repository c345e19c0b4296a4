import { describe, expect, it } from "vitest";
import { currentProcess, labelOf, livenessOfLabel } from "./process-identity.js";

describe("the label of a process", () => {
  const here = currentProcess();

  it("tells whether it lives", () => {
    expect(labelOf(here)).toMatch(/^[\w-]+$/);
    expect(livenessOfLabel(labelOf(here))).toBe("alive");
    expect(livenessOfLabel(labelOf({ ...here, pid: 2 ** 22 + 1 }))).toBe("dead");
  });

  it("is not that of a later process with the same pid", (context) => {
    if (here.startTime === null) context.skip("this system does not tell when a process started");
    expect(livenessOfLabel(labelOf({ ...here, startTime: "1" }))).toBe("dead");
  });

  it("says nothing of another machine or container, nor of one before a restart", () => {
    for (const place of [{ host: "other" }, { pidSpace: "pid:[1]" }, { bootId: "before" }]) {
      expect(livenessOfLabel(labelOf({ ...here, ...place }))).toBe("unknown");
    }
    expect(livenessOfLabel("nonsense")).toBe("unknown");
  });
});
