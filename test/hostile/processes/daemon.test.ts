import type { ChildProcess } from "node:child_process";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ISandbox } from "../../../src/index.js";
import { DaemonHome } from "../../support/daemon-home.js";
import { AttackFixture } from "../attack-fixture.js";
import { CONFIG } from "../attack-runner.js";
import { expectGone, type SessionInit } from "./census.js";
import { DAEMON } from "./daemon.js";
import { readSection, section } from "./section.js";
import { armed, within } from "./trial.js";

// Past the limit of the cell, when its end has been ordered.
const BEGUN_MS = 1_500;
const HANG_MS = 40_000;

const fixture = new AttackFixture();
const home = new DaemonHome();
let daemon: ChildProcess | undefined;
let beside: ISandbox | undefined;

beforeAll(async () => {
  daemon = await home.start();
});
afterAll(() => home[Symbol.asyncDispose]());
afterEach(async () => {
  try {
    // A session of another client, in the same daemon.
    if (beside !== undefined) expect(await beside.getVariable("kept")).toBe(7);
  } finally {
    beside ??= await home.runtime().createSandbox({ ...CONFIG });
    await beside.execute("kept = 7");
  }
  expect(daemon).toMatchObject({ exitCode: null, signalCode: null });
});

section({
  file: "daemon.json",
  expectations: DAEMON,
  fixture,
  isElsewhere: true,
  root: () => daemon?.pid,
  open: (config) => home.runtime().createSandbox(config),
});

describe("cells aimed at the daemon whose client leaves", () => {
  for (const { id, code } of readSection("leaving.json")) {
    it(id, { timeout: 120_000 }, async () => {
      const runtime = home.runtime();
      const sandbox = await runtime.createSandbox({ ...CONFIG, timeout: 800, grace: 300 });
      const init: SessionInit = await armed(sandbox, daemon?.pid);
      const running = sandbox.execute(code).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, BEGUN_MS));
      await within("the client's end", HANG_MS, runtime[Symbol.asyncDispose]());
      await within("execute()", HANG_MS, running);
      await expectGone(init);
    });
  }
});
