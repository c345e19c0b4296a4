import { afterAll } from "vitest";
import { DaemonHome, SMALL } from "../../../test/support/daemon-home.js";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { describeConformance } from "../conformance.case.test.js";

const { runtime: probed, unavailable } = await openNativeRuntime();
await probed[Symbol.asyncDispose]();
const home = new DaemonHome();
if (unavailable === undefined) await home.start();
const runtime = home.runtime();

afterAll(() => home[Symbol.asyncDispose]());

describeConformance({
  name: "daemon",
  create: (config) => runtime.createSandbox({ ...SMALL, ...config }),
  unavailable: () => unavailable,
});
