import { describe, expect, test } from "vitest";
import { callerSchema, chainLogSchema, chainReportSchema } from "./chain-report.js";

const report = {
  chain_id: "0123456789ab",
  mode_requested: "dep",
  mode_used: "dep",
  fallback_to_seq: false,
  reason: null,
  parallel_mutations_enabled: false,
  waves: 1,
  steps: 2,
  wave_timeline: [{ wave_index: 0, tools: ["peek", "db.put"], mode_used: "seq", elapsed_ms: 1.5 }],
};

describe("the report on a chain", () => {
  test("is what the runner sends", () => {
    expect(chainReportSchema.parse(report)).toEqual(report);
    const plain = {
      ...report,
      mode_used: "seq",
      fallback_to_seq: true,
      reason: "a loop",
      waves: 0,
    };
    expect(chainReportSchema.safeParse({ ...plain, wave_timeline: [] }).success).toBe(true);
  });

  test.each([
    ["another mode", { mode_used: "fast" }],
    ["an id that is none", { chain_id: "../../etc" }],
    ["a field that is not known", { extra: 1 }],
    ["too many waves", { wave_timeline: new Array(201).fill(report.wave_timeline[0]) }],
    ["a wave without tools", { wave_timeline: [{ ...report.wave_timeline[0], tools: [] }] }],
    ["a time that is none", { wave_timeline: [{ ...report.wave_timeline[0], elapsed_ms: -1 }] }],
    ["a long reason", { reason: "x".repeat(5000) }],
  ])("is refused with %s", (_what, change) => {
    expect(chainReportSchema.safeParse({ ...report, ...change }).success).toBe(false);
  });

  test("has calls that tell their place, and a log for a replay", () => {
    const place = { caller_type: "chain", chain_id: "0123456789ab", chain_index: 3 };
    expect(callerSchema.parse(place)).toEqual(place);
    expect(callerSchema.safeParse({ ...place, caller_type: "cell" }).success).toBe(false);
    const entry = { chain_index: 0, tool: "peek", args: { n: 1 }, outcome: { value: "a" } };
    expect(chainLogSchema.parse([entry])).toEqual([entry]);
    expect(chainLogSchema.safeParse(new Array(1001).fill(entry)).success).toBe(false);
  });
});
