import { afterAll, describe, expect, it } from "vitest";
import { createSandbox } from "../../backends/create-sandbox.js";
import { shutdown } from "../../backends/shared.js";
import { replayRun } from "./recorded-run.js";

afterAll(shutdown);

describe("the recorded run of the demo", () => {
  it("is replayed to its end", async () => {
    await using sandbox = await createSandbox({ preload: "none" });
    const told = await replayRun(sandbox.info);
    expect(told).toMatch(
      /A replayed run: 3 turns, 11 model calls → Goney, Bachelor, Rachel, Delight$/,
    );
  }, 120_000);
});
