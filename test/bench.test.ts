import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const MAIN = fileURLToPath(new URL("../bench/main.mjs", import.meta.url));
const MEASURED = [
  "live_cell_vs_ipykernel",
  "checkpointed_vs_live",
  "default_cell_p99_vs_median",
  "checkpoint_cpu_vs_fork",
];
const RATIOS = [
  "new_session_vs_bwrap_pickle",
  "new_session_isolated_vs_bwrap_pickle",
  "session_cycle_vs_bwrap_python",
  ...MEASURED,
  "default_cell_vs_ipykernel",
  "default_cell_spaced_vs_ipykernel",
  "default_throughput_vs_off",
  "undo_vs_fork",
  "loaded_cell_vs_quiet",
  "notebook_run_all_vs_floor",
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
  "tool_call_vs_floor",
  "parallel_tools_vs_ideal",
  "dep_waves_vs_ideal",
  "web_fetch_vs_fetch",
  "web_fetch_html_vs_parse",
  "tokens_archive_saving",
  "codemode_tokens_saving",
  "rlm_turn_overhead_vs_official",
  "rlm_fanout_vs_ideal",
  "rlm_budget_overshoot",
  "rlm_root_tokens_vs_full",
  "pyodide_start_vs_plain",
  "pyodide_loop_vs_plain",
];
/** Figures that have no target. */
const REPORTED = ["tool_call_ms"];

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
      unit: z.enum(["ms", "MB", "tokens", "%", "$", "cells/s"]),
      median: z.number(),
      p95: z.number(),
      p99: z.number().nullable(),
      min: z.number(),
      max: z.number(),
      n: z.int().positive(),
      cpu_host_ms: z.number().nonnegative().nullable(),
      cpu_session_ms: z.number().nonnegative().nullable(),
      note: z.string().optional(),
    }),
  ),
  skipped: z.record(z.string(), z.string().min(1)),
  machine: z.object({ processors: z.int().positive(), node: z.string() }),
});

function bench(options: readonly string[], env: NodeJS.ProcessEnv = process.env) {
  return promisify(execFile)(process.execPath, [MAIN, ...options], { env });
}

/** What a program prints that uses modules of the benchmarks. */
async function printed(modules: Readonly<Record<string, string>>, program: string) {
  const imports = Object.entries(modules).map(([names, file]) => {
    const { href } = new URL(`../bench/${file}`, import.meta.url);
    return `import { ${names} } from ${JSON.stringify(href)};`;
  });
  const options = ["--input-type=module", "--eval", [...imports, program].join("\n")];
  const { stdout } = await promisify(execFile)(process.execPath, options);
  return stdout;
}

interface ExampleRow {
  name: string;
  unit?: string;
  samples: number[];
  cpu?: { host: number; session: number };
}

/** A report whose rows have these samples, as text and as data. */
async function reportOf(rows: readonly ExampleRow[]) {
  const shown = await printed(
    { Report: "report.mjs" },
    `const report = new Report([], { load_before: 0 });
    report.add({ key: "example" }, { rows: ${JSON.stringify(rows)} });
    process.stdout.write(JSON.stringify({ text: report.toText(), rows: report.rows }));`,
  );
  return z.object({ text: z.string(), rows: reportSchema.shape.rows }).parse(JSON.parse(shown));
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
    expect(Object.keys(report.ratios).sort()).toEqual([...RATIOS, ...REPORTED].sort());
    expect(Object.keys(report.targets).sort()).toEqual([...RATIOS].sort());
    for (const [key, ratio] of Object.entries(report.ratios)) {
      const names = report.rows.filter(({ benchmark }) => benchmark === key);
      if (ratio === null) expect(report.skipped).toHaveProperty(key);
      else expect(names.length).toBeGreaterThanOrEqual(2);
    }
    for (const key of MEASURED) expect(report.skipped[key]).not.toBe("excluded by --only");
    const accounted = report.rows.filter(({ cpu_host_ms: host }) => host !== null);
    for (const key of MEASURED.filter((name) => report.ratios[name] !== null)) {
      expect(accounted.map(({ benchmark }) => benchmark)).toContain(key);
    }
    for (const { cpu_session_ms: session } of accounted) expect(session).toBeGreaterThan(0);
    for (const { n, median, p99, max } of report.rows) {
      expect(p99 === null).toBe(n < 100);
      if (p99 !== null) expect(p99).toBeGreaterThanOrEqual(median);
      expect(max).toBeGreaterThanOrEqual(p99 ?? median);
    }
  });

  it("show a 99th percentile only where there are samples enough for one", async () => {
    const upTo = (n: number) => Array.from({ length: n }, (_, place) => place + 1);
    const { text } = await reportOf([
      { name: "many", samples: upTo(200) },
      { name: "few", samples: upTo(20) },
      { name: "one", samples: [7] },
      { name: "share", unit: "%", samples: [50, 60] },
    ]);
    expect(text).toMatch(/ median +p95 +p99 +cpu host +cpu session +n\n/);
    expect(text).toMatch(/^many +101 ms +190 ms +198 ms +- +- +200$/m);
    expect(text).toMatch(/^few +10\.50 ms +19\.00 ms +worst of 20: 20\.00 ms +- +- +20$/m);
    expect(text).toMatch(/^one +7\.00 ms +7\.00 ms +- +- +- +1$/m);
    expect(text).toMatch(/^share +55\.00 % +60\.00 % +- +- +- +2$/m);
  });

  it("show a figure without a target as one, and none of a row that has no figure", async () => {
    const shown = await printed(
      { Report: "report.mjs" },
      `const wanted = { key: "wanted", target: { at_most: 2 } };
      const told = { key: "told", isReported: true };
      const rows = [{ name: "row", samples: [3] }];
      const report = new Report([wanted, told, { key: "bare" }], { load_before: 0 });
      report.add(wanted, { ratio: 3, rows });
      report.add(told, { ratio: 3, rows });
      report.add({ key: "bare" }, { rows });
      const { ratios, targets } = report;
      process.stdout.write(JSON.stringify({ ratios, targets, text: report.toText() }));`,
    );
    const { ratios, targets, text } = JSON.parse(shown);
    expect({ ratios, targets }).toEqual({
      ratios: { wanted: 3, told: 3 },
      targets: { wanted: { at_most: 2 } },
    });
    expect(text).toMatch(/^wanted +3 {2}at most 2: missed\ntold +3 {2}no target$/m);
  });

  it("show processor time where it was measured, and null elsewhere", async () => {
    const { text, rows } = await reportOf([
      { name: "with", samples: [1], cpu: { host: 0.25, session: 1.00049 } },
      { name: "without", samples: [1] },
    ]);
    expect(text).toMatch(/^with +1\.00 ms +1\.00 ms +- +0\.25 ms +1\.00 ms +1$/m);
    expect(rows).toMatchObject([
      { cpu_host_ms: 0.25, cpu_session_ms: 1 },
      { cpu_host_ms: null, cpu_session_ms: null },
    ]);
  });

  it("count the processor time of processes that have ended, and whose it was", async (context) => {
    const spend = `import os, time
def spend():
    end = time.process_time() + 0.02
    while time.process_time() < end: pass
for _ in range(20):
    child = os.fork()
    if child == 0:
        spend()
        os._exit(0)
    os.waitpid(child, 0)`;
    const shown = await printed(
      {
        "open, openRuntime, run, warm": "cellar.mjs",
        "Meter, processorTime": "processor-time.mjs",
        Scope: "scope.mjs",
      },
      `const scope = new Scope();
      const measure = async () => {
        const runtime = scope.use(openRuntime());
        const config = { preload: "none", poolSize: 0, checkpoints: "off" };
        const sandbox = await open(runtime, config);
        const time = scope.use(processorTime((await warm(runtime, config)).pid));
        const [host, sessions] = [new Meter(time), new Meter(time)];
        await sessions.around(async () => [await run(sandbox, ${JSON.stringify(spend)})]);
        await host.around(async () => {
          const began = process.cpuUsage();
          for (let used = 0; used < 400_000; ) {
            const { user, system } = process.cpuUsage(began);
            used = user + system;
          }
          return [0];
        });
        return { host: host.cpu(0), sessions: sessions.cpu(0) };
      };
      const explain = ({ code, message }) => ({ why: code + ": " + message });
      const result = await measure().catch(explain);
      await scope.close();
      process.stdout.write(JSON.stringify(result));`,
    );
    const { why, host, sessions } = JSON.parse(shown);
    if (why?.startsWith("SANDBOX_UNAVAILABLE")) context.skip(why);
    expect(why).toBeUndefined();
    expect(sessions.session).toBeGreaterThan(350);
    expect(sessions.host).toBeLessThan(200);
    expect(host.host).toBeGreaterThan(350);
    expect(host.session).toBeLessThan(200);
  });

  it("end their busy loops when the work beside them fails", async () => {
    const shown = await printed(
      { BusyLoops: "busy-loops.mjs", processTree: "process-tree.mjs" },
      `const during = [];
      const work = async () => {
        during.push(processTree(process.pid).length);
        throw new Error("failed");
      };
      const said = await BusyLoops.beside(work).catch(({ message }) => message);
      process.stdout.write(JSON.stringify([said, during[0] > 1, processTree(process.pid).length]));`,
    );
    expect(JSON.parse(shown)).toEqual(["failed", true, 1]);
  });

  it("count no dollar over the cap, and few tokens of the root model", async (context) => {
    const keys = ["rlm_budget_overshoot", "rlm_root_tokens_vs_full"] as const;
    const { ratios, skipped } = await measure(keys);
    for (const key of keys) if (ratios[key] === null) context.skip(`${key}: ${skipped[key]}`);
    expect(ratios.rlm_budget_overshoot).toBe(0);
    expect(ratios.rlm_root_tokens_vs_full).toBeGreaterThanOrEqual(50);
  }, 180_000);

  it("save tokens with cells that call tools, in each job, and with archives", async (context) => {
    const keys = ["codemode_tokens_saving", "tokens_archive_saving"] as const;
    const { ratios, rows, skipped } = await measure(keys);
    for (const key of keys) if (ratios[key] === null) context.skip(`${key}: ${skipped[key]}`);
    expect(ratios.codemode_tokens_saving).toBeGreaterThanOrEqual(10);
    expect(ratios.tokens_archive_saving).toBeGreaterThanOrEqual(25);
    const tokens = rows.filter(({ benchmark }) => benchmark === keys[0]);
    const ours = tokens.filter(({ name }) => name.startsWith("Cellar, "));
    const others = tokens.filter(({ name }) => name.startsWith("the same with one call a turn"));
    expect([ours.length, others.length]).toEqual([3, 3]);
    for (const [job, { median }] of ours.entries()) {
      expect((others[job]?.median ?? 0) / median).toBeGreaterThanOrEqual(3);
    }
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
