import type { ChildProcess } from "node:child_process";
import { afterAll, expect, it } from "vitest";
import type { DaemonRuntime } from "../../src/backends/daemon/runtime.js";
import { DaemonHome } from "../support/daemon-home.js";
import { AttackFixture } from "./attack-fixture.js";
import { CONFIG } from "./attack-runner.js";
import { sweep } from "./sweep.js";

const home = new DaemonHome();
const fixture = new AttackFixture();
let daemon: { readonly process: ChildProcess; readonly runtime: DaemonRuntime } | undefined;

afterAll(() => home[Symbol.asyncDispose]());

sweep({
  name: "through the daemon",
  fixture,
  applies: ({ category }) => category !== "pyodide",
  open: async () => {
    daemon ??= { process: await home.start(), runtime: home.runtime() };
    return daemon.runtime.createSandbox({ ...CONFIG, timeout: 5_000 });
  },
});

it("the daemon outlived them all", async () => {
  expect(daemon?.process).toMatchObject({ exitCode: null, signalCode: null });
  expect((await home.status()).clients).toBeGreaterThan(0);
});
