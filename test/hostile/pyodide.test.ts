import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect } from "vitest";
import { PyodideRuntime } from "../../src/backends/pyodide/runtime.js";
import { AttackFixture } from "./attack-fixture.js";
import { sweep } from "./sweep.js";

const CONFIG = { timeout: 5_000, grace: 500, limits: { memoryMb: 256 }, spares: 1 } as const;

// Made first, for hooks run backwards: the runner's farewell wants no process left, spares included.
const fixture = new AttackFixture();
let runtime: PyodideRuntime | undefined;

beforeAll(() => {
  runtime = new PyodideRuntime();
});

afterAll(() => runtime?.[Symbol.asyncDispose]());

sweep({
  name: "in a jailed Pyodide",
  fixture,
  open: async () => {
    if (runtime === undefined) throw new Error("the runtime is not open");
    return runtime.createSandbox(CONFIG);
  },
  imitated: {
    "fs-w-02": "the file lies in the memory of the session, which has a root of its own",
    "fs-w-05": "the same, for /proc is an ordinary folder there",
    "net-04": "names are given numbers without asking anybody",
    "iso-02": "every pid but the own one is answered with EPERM, whether it is there or not",
  },
  expected: {
    "pyo-01": () => expect(existsSync("/tmp/PWNED_PYO")).toBe(false),
    "pyo-03": (run) => expect(run.error).not.toBeNull(),
    "pyo-04": (run) => expect(run.error).not.toBeNull(),
    "pyo-06": (run) => expect(run.error).not.toBeNull(),
    "pyo-07": (run) => expect(run.stdout).not.toContain(String(process.pid)),
    "pyo-09": (run) => expect(run.error).not.toBeNull(),
    "pyo-10": (run) => expect(run.status).toMatch(/^(error|crashed)$/),
    "pyo-12": (run) => expect(run.status).toBe("oom"),
    "pyo-13": (run) => expect(run.error).not.toBeNull(),
  },
});
