import { afterAll } from "vitest";
import { describeConformance } from "../conformance.case.test.js";
import { openWalls } from "./walls.case.test.js";

const { runtime, unavailable } = await openWalls();

afterAll(() => runtime[Symbol.asyncDispose]());

describeConformance({
  name: "native",
  create: (config) => runtime.createSandbox({ preload: "standard", poolSize: 1, ...config }),
  unavailable: () => unavailable,
});
