import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const MAIN = fileURLToPath(new URL("../bench/main.mjs", import.meta.url));
const REPORT = new URL("../bench/report.mjs", import.meta.url).href;
const MEASURED = ["live_cell_vs_ipykernel", "checkpointed_vs_live"];
const RATIOS = [
  "new_session_vs_bwrap_pickle",
  "new_session_isolated_vs_bwrap_pickle",
  ...MEASURED,
  "burst_64_p95_vs_bwrap_python",
  "session_mb",
  "notebook_cell_vs_floor",
  "mcp_cell_vs_notebook",
  "fork_notebook_vs_replay",
  "snapshot_block_vs_seed_codec",
  "restore_100mb_vs_seed_codec",
  "context_500mb_vs_read",
  "batched_vs_ideal",
  "daemon_exec_vs_python",
  "import_vs_node",
  "exec_vs_python",
  "toon_saving_percent",
  "tokens_full_vs_explore",
  "grep_vs_ripgrep",
  "turn_vs_execute",
  "rlm_turn_overhead_vs_official",
  "rlm_fanout_vs_ideal",
  "rlm_budget_overshoot",
  "rlm_root_tokens_vs_full",
  "pyodide_start_vs_plain",
  "pyodide_loop_vs_plain",
];

const reportSchema = z.object({
  ratios: z.record(z.string(), z.number().nonnegative().nullable()),
  targets: z.record(
    z.string(),
    z.union([z.strictObject({ at_least: z.number() }), z.strictObject({ at_most: z.number() })]),
  ),
  rows: z.array(
    z.object({
      benchmark: z.string(),
      name: z.string(),
      unit: z.enum(["ms", "MB", "tokens", "%", "$"]),
      median: z.number(),
      p95: z.number(),
      p99: z.number().nullable(),
      min: z.number(),
      max: z.number(),
      n: z.int().positive(),
      note: z.string().optional(),
    }),
  ),
  skipped: z.record(z.string(), z.string().min(1)),
  machine: z.object({ processors: z.int().positive(), node: z.string() }),
});

function bench(options: readonly string[], env: NodeJS.ProcessEnv = process.env) {
  return promisify(execFile)(process.execPath, [MAIN, ...options], { env });
}

/** The text of a report whose rows have these samples. */
async function reportText(rows: readonly { name: string; unit?: string; samples: number[] }[]) {
  const program = `import { Report } from ${JSON.stringify(REPORT)};
    const report = new Report([], { load_before: 0 });
    report.add({ key: "example" }, { rows: ${JSON.stringify(rows)} });
    process.stdout.write(report.toText());`;
  const options = ["--input-type=module", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, options);
  return stdout;
}

async function measure(keys: readonly string[], env?: NodeJS.ProcessEnv) {
  const { stdout } = await bench(["--quick", "--only", keys.join(","), "--json"], env);
  return reportSchema.parse(JSON.parse(stdout));
}

describe("the benchmarks", () => {
  it("refuse an unknown name, and list those there are", async () => {
    const refused = (options: readonly string[]) =>
      bench([...options, "--only", "nope"]).catch((error: unknown) => error);
    expect(await refused([])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^bench: unknown benchmark: nope\n {2}fix: Choose from: \w+/),
    });
    const { stdout } = (await refused(["--json"])) as { stdout: string };
    expect(JSON.parse(stdout).error).toMatchObject({ code: "INVALID_INPUT" });
  });

  it("print every ratio, or the reason why there is none", async () => {
    const report = await measure(MEASURED);
    expect(Object.keys(report.ratios).sort()).toEqual([...RATIOS].sort());
    expect(Object.keys(report.targets).sort()).toEqual([...RATIOS].sort());
    for (const [key, ratio] of Object.entries(report.ratios)) {
      const names = report.rows.filter(({ benchmark }) => benchmark === key);
      if (ratio === null) expect(report.skipped).toHaveProperty(key);
      else expect(names.length).toBeGreaterThanOrEqual(2);
    }
    for (const key of MEASURED) expect(report.skipped[key]).not.toBe("excluded by --only");
    for (const { n, median, p99, max } of report.rows) {
      expect(p99 === null).toBe(n < 100);
      if (p99 !== null) expect(p99).toBeGreaterThanOrEqual(median);
      expect(max).toBeGreaterThanOrEqual(p99 ?? median);
    }
  });

  it("show a 99th percentile only where there are samples enough for one", async () => {
    const upTo = (n: number) => Array.from({ length: n }, (_, place) => place + 1);
    const text = await reportText([
      { name: "many", samples: upTo(200) },
      { name: "few", samples: upTo(20) },
      { name: "one", samples: [7] },
      { name: "share", unit: "%", samples: [50, 60] },
    ]);
    expect(text).toMatch(/ median +p95 +p99 +n\n/);
    expect(text).toMatch(/^many +101 ms +190 ms +198 ms +200$/m);
    expect(text).toMatch(/^few +10\.50 ms +19\.00 ms +worst of 20: 20\.00 ms +20$/m);
    expect(text).toMatch(/^one +7\.00 ms +7\.00 ms +- +1$/m);
    expect(text).toMatch(/^share +55\.00 % +60\.00 % +- +2$/m);
  });

  it("count no dollar over the cap, and few tokens of the root model", async (context) => {
    const keys = ["rlm_budget_overshoot", "rlm_root_tokens_vs_full"] as const;
    const { ratios, skipped } = await measure(keys);
    for (const key of keys) if (ratios[key] === null) context.skip(`${key}: ${skipped[key]}`);
    expect(ratios.rlm_budget_overshoot).toBe(0);
    expect(ratios.rlm_root_tokens_vs_full).toBeGreaterThanOrEqual(50);
  }, 180_000);

  it("name a peer that cannot be had, and do not fail for it", async () => {
    const cache = mkdtempSync(join(tmpdir(), "cellar-bench-"));
    const key = "rlm_turn_overhead_vs_official";
    try {
      const { ratios, skipped } = await measure([key], {
        ...process.env,
        CELLAR_HOME: cache,
        PIP_NO_INDEX: "1",
        PIP_FIND_LINKS: "",
      });
      expect(ratios[key]).toBeNull();
      expect(skipped[key]).toMatch(/rlms \S+ cannot be had: \S/);
    } finally {
      rmSync(cache, { recursive: true, force: true, maxRetries: 10 });
    }
  });

  it("refuse a name that none of them has", async () => {
    await expect(bench(["--only", "no_such_row"])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no_such_row"),
    });
  });
});
