import type { ChildProcess } from "node:child_process";
import { afterAll, expect, it } from "vitest";
import { DaemonHome } from "../../src/backends/daemon/home.case.test.js";
import type { DaemonRuntime } from "../../src/backends/daemon/runtime.js";
import { CONFIG } from "./arena.js";
import { Grounds } from "./grounds.js";
import { sweep } from "./sweep.js";

const home = new DaemonHome();
const grounds = new Grounds();
let daemon: { readonly process: ChildProcess; readonly runtime: DaemonRuntime } | undefined;

afterAll(() => home[Symbol.asyncDispose]());

sweep({
  name: "through the daemon",
  grounds,
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
