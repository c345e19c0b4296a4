import { afterEach, describe, expect, it, vi } from "vitest";
import { planAgent, withPolicy } from "./options.js";

describe("the plan of an agent's REPL", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("has defaults of its own for the sandbox", () => {
    expect(planAgent({}, {}, true).config).toMatchObject({
      policy: "ast",
      sanitise: true,
      timeout: 600_000,
      agent: { maxGrepResults: 100, requireExplorationBeforeFinal: false, minExplorationCalls: 1 },
    });
    expect(planAgent({}, {}, false).config.timeout).toBe(120_000);
  });

  it("lets options decide, then the environment", () => {
    vi.stubEnv("CELLAR_TIMEOUT", "5000");
    const { config } = planAgent({ maxGrepResults: 7 }, { policy: "off" }, true);
    expect(config).toMatchObject({ policy: "off", agent: { maxGrepResults: 7 } });
    // Left to the settings, which know the value.
    expect(config.timeout).toBeUndefined();
    expect(planAgent({}, { timeout: 9 }, true).config.timeout).toBe(9);
  });

  it("takes another default for the policy, below options and the environment", () => {
    const policyOf = (config: object) =>
      planAgent({}, withPolicy("off", config), true).config.policy;
    expect(policyOf({})).toBe("off");
    expect(policyOf({ policy: undefined })).toBe("off");
    expect(policyOf({ policy: "ast" })).toBe("ast");
    vi.stubEnv("CELLAR_POLICY", "ast");
    // Left to the settings.
    expect(policyOf({})).toBeUndefined();
  });

  it("refuses options that it does not know", () => {
    const options = { outputcap: 1 } as object;
    expect(() => planAgent(options, {}, false)).toThrow(
      expect.objectContaining({
        code: "INVALID_CONFIG",
        remedy: expect.stringContaining("outputCap"),
      }),
    );
  });
});
