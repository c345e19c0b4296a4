import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { resolveSettings } from "../../../config.js";
import { currentProcess, labelOf, type ProcessIdentity } from "../../host/process-identity.js";
import { wireLimits } from "../../host/wire-limits.js";
import type { Zygote } from "../zygote/zygote.js";
import { SpareSessionDirs } from "./spare-session-dirs.js";

let sessionRoot = "";
beforeEach(() => {
  sessionRoot = mkdtempSync(join(tmpdir(), "cellar-spares-"));
});
afterEach(() => rmSync(sessionRoot, { recursive: true, force: true, maxRetries: 10 }));

it("spare folders of dead hosts are removed, and those of others stay", () => {
  const here = currentProcess();
  const make = (mark: Partial<ProcessIdentity>, digits: string) => {
    const name = `spare-${labelOf({ ...here, ...mark })}-${digits.repeat(8)}`;
    mkdirSync(join(sessionRoot, name));
    return name;
  };
  const own = make({}, "0");
  make({ pid: 2 ** 22 + 1 }, "1");
  if (here.startTime !== null) make({ startTime: "1" }, "2");
  const elsewhere = make({ pidSpace: "pid:[1]", pid: 1 }, "3");
  const old = make({ pidSpace: "pid:[1]", pid: 1 }, "4");
  utimesSync(join(sessionRoot, old), 1, 1);
  mkdirSync(join(sessionRoot, "of-a-notebook"));
  const limits = wireLimits(resolveSettings().limits);
  const plan = { zygote: {} as Zygote, sessionRoot, limits, keepCheckpoints: 0, isWanted: false };
  new SpareSessionDirs(plan).close();
  expect(readdirSync(sessionRoot).sort()).toEqual([own, elsewhere, "of-a-notebook"].sort());
});
