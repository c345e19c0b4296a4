import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

const TRIAL = join(import.meta.dirname, "..", "..", "scripts", "trial.mjs");
const LIMIT_MS = 400_000;

const outcomeSchema = z.object({
  results: z.array(
    z.object({
      machine: z.string(),
      step: z.string(),
      status: z.enum(["passed", "failed", "skipped"]),
      expected: z.string().optional(),
      got: z.string().optional(),
      reason: z.string().optional(),
    }),
  ),
});

type Results = z.infer<typeof outcomeSchema>["results"];

/** Packs the package, installs it once, and goes to the machines of the short form. */
async function shortTrial(): Promise<Results> {
  const folder = mkdtempSync(join(tmpdir(), "cellar-short-trial-"));
  const file = join(folder, "outcome.json");
  try {
    const child = spawn(process.execPath, [TRIAL, "--short", "--json", file]);
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
    }
    const timer = setTimeout(() => child.kill("SIGTERM"), LIMIT_MS);
    await once(child, "close");
    clearTimeout(timer);
    if (!existsSync(file)) throw new Error(`the trial has no outcome: ${said}`);
    return outcomeSchema.parse(JSON.parse(readFileSync(file, "utf8"))).results;
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

describe.skipIf(process.platform !== "linux")("the package in a stranger's hands", () => {
  let results: Results = [];

  beforeAll(async () => {
    results = await shortTrial();
  }, LIMIT_MS + 20_000);

  it.for([
    ["plain", "where nothing is missing"],
    ["noexec", "where /tmp is mounted noexec"],
    ["no-python", "where there is no Python"],
    ["no-bubblewrap", "where there is no bubblewrap"],
  ] as const)("works or says what it needs: %s, %s", ([machine], ctx) => {
    const own = results.filter((one) => one.machine === machine);
    expect(own.filter(({ status }) => status === "failed")).toEqual([]);
    const skipped = own.find(({ status }) => status === "skipped");
    if (skipped !== undefined) ctx.skip(`${skipped.step}: ${skipped.reason}`);
    expect(own.length).toBeGreaterThan(3);
  });
});
