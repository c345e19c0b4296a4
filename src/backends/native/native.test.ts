import { afterAll } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { describeConformance } from "../conformance.case.test.js";

const { runtime, unavailable } = await openNativeRuntime();

afterAll(() => runtime[Symbol.asyncDispose]());

describeConformance({
  name: "native",
  create: (config) => runtime.createSandbox({ preload: "standard", poolSize: 1, ...config }),
  unavailable: () => unavailable,
});
