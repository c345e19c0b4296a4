import { afterAll } from "vitest";
import { openWalls } from "../../../test/support/native-runtime.js";
import { describeConformance } from "../conformance.case.test.js";

const { runtime, unavailable } = await openWalls();

afterAll(() => runtime[Symbol.asyncDispose]());

describeConformance({
  name: "native",
  create: (config) => runtime.createSandbox({ preload: "standard", poolSize: 1, ...config }),
  unavailable: () => unavailable,
});
