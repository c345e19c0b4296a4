import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { describeConformance } from "../conformance.case.test.js";
import { PyodideRuntime } from "./runtime.js";
import { NOT_IN_ONE_THREAD } from "./skips.case.test.js";

const cache = mkdtempSync(join(tmpdir(), "cellar-pyodide-test-"));
const runtime = new PyodideRuntime({ cache });

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  rmSync(cache, { recursive: true, force: true });
});

describeConformance({
  name: "pyodide in the caller's thread",
  create: (config) => runtime.createSandbox({ useWorker: false, minIsolation: "L0", ...config }),
  unavailable: () => undefined,
  needsAwait: true,
  skip: NOT_IN_ONE_THREAD,
});
