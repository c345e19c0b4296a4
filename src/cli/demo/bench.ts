import { spawn } from "node:child_process";
import { join } from "node:path";
import type { Command } from "commander";
import { surroundings } from "../../config.js";
import { EXIT } from "../exit-codes.js";

interface BenchOptions {
  readonly json?: true;
  readonly quick?: true;
  readonly only?: string;
}

export function registerBench(program: Command, finish: (code: number) => void): void {
  program
    .command("bench")
    .description("measure Cellar beside its peers")
    .option("--json", "print one JSON object with ratios and rows")
    .option("--only <names>", "run these benchmarks, separated by commas")
    .option("--quick", "fewer repetitions")
    .action(async (options: BenchOptions) => finish(await bench(options)));
}

async function bench(options: BenchOptions): Promise<number> {
  const script = join(surroundings().packageRoot, "bench", "main.mjs");
  const flags = [
    ...(options.json === true ? ["--json"] : []),
    ...(options.quick === true ? ["--quick"] : []),
    ...(options.only === undefined ? [] : ["--only", options.only]),
  ];
  const child = spawn(process.execPath, [script, ...flags], { stdio: "inherit" });
  // Ctrl-C reaches the benchmark as well; its own end decides.
  const ignore = () => {};
  process.on("SIGINT", ignore);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) =>
        resolve(code ?? (signal === "SIGINT" ? EXIT.cancelled : EXIT.failed)),
      );
    });
  } finally {
    process.off("SIGINT", ignore);
  }
}
