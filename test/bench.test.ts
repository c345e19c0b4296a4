import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const MAIN = fileURLToPath(new URL("../bench/main.mjs", import.meta.url));
const MEASURED = ["live_cell_vs_ipykernel", "checkpointed_vs_live"];
const RATIOS = [
  "new_session_vs_bwrap_pickle",
  ...MEASURED,
  "burst_64_p95_vs_bwrap_python",
  "session_mb",
  "notebook_cell_vs_floor",
  "fork_notebook_vs_replay",
  "snapshot_block_vs_seed_codec",
  "restore_100mb_vs_seed_codec",
  "context_500mb_vs_read",
  "batched_vs_ideal",
  "daemon_exec_vs_python",
  "toon_saving_percent",
  "tokens_full_vs_explore",
  "grep_vs_ripgrep",
  "turn_vs_execute",
  "pyodide_start_vs_plain",
  "pyodide_loop_vs_plain",
];

const reportSchema = z.object({
  ratios: z.record(z.string(), z.number().positive().nullable()),
  targets: z.record(
    z.string(),
    z.union([z.strictObject({ at_least: z.number() }), z.strictObject({ at_most: z.number() })]),
  ),
  rows: z.array(
    z.object({
      benchmark: z.string(),
      name: z.string(),
      unit: z.enum(["ms", "MB", "tokens", "%"]),
      median: z.number(),
      p95: z.number(),
      min: z.number(),
      n: z.int().positive(),
      note: z.string().optional(),
    }),
  ),
  skipped: z.record(z.string(), z.string().min(1)),
  machine: z.object({ processors: z.int().positive(), node: z.string() }),
});

function bench(...options: string[]) {
  return promisify(execFile)(process.execPath, [MAIN, ...options]);
}

describe("the benchmarks", () => {
  it("print every ratio, or the reason why there is none", async () => {
    const { stdout } = await bench("--quick", "--only", MEASURED.join(","), "--json");
    const report = reportSchema.parse(JSON.parse(stdout));
    expect(Object.keys(report.ratios).sort()).toEqual([...RATIOS].sort());
    expect(Object.keys(report.targets).sort()).toEqual([...RATIOS].sort());
    for (const [key, ratio] of Object.entries(report.ratios)) {
      const names = report.rows.filter(({ benchmark }) => benchmark === key);
      if (ratio === null) expect(report.skipped).toHaveProperty(key);
      else expect(names.length).toBeGreaterThanOrEqual(2);
    }
    for (const key of MEASURED) expect(report.skipped[key]).not.toBe("not asked for");
  });

  it("refuse a name that none of them has", async () => {
    await expect(bench("--only", "no_such_row")).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no_such_row"),
    });
  });
});
