import { afterAll, describe, expect, it } from "vitest";
import { createSandbox } from "../../backends/create-sandbox.js";
import { shutdown } from "../../backends/shared.js";
import { callTools } from "./tool-calls.js";

afterAll(shutdown);

describe("the tools of the demo", () => {
  it("are called at once, from one cell", async () => {
    await using sandbox = await createSandbox({ preload: "none" });
    const told = await callTools(sandbox.info);
    expect(told).toMatch(/the host had all 8 calls at once; their sum is 140$/);
  });
});
