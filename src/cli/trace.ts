import { stat, writeFile } from "node:fs/promises";
import { extname, resolve } from "node:path";
import type { Command } from "commander";
import { CellarError, describeError } from "../errors.js";
import { EXIT } from "./exit-codes.js";
import { complain, invalidInput } from "./failures.js";

interface ViewOptions {
  readonly out?: string;
}

export function registerTrace(program: Command, finish: (code: number) => void): void {
  program
    .command("trace")
    .description("look at what a run of cellar rlm did")
    .command("view")
    .description("write the trace as one page for a browser, and tell where it is")
    .argument("<file>", "what --trace wrote")
    .option("--out <page>", "the page, - for stdout (default: FILE with .html at its end)")
    .action(async (file: string, options: ViewOptions) => finish(await view(file, options)));
}

async function view(file: string, { out = pageOf(file) }: ViewOptions): Promise<number> {
  if (out !== "-" && (await areSame(out, file))) {
    throw invalidInput(`the page would be written over ${file}`, "Give --out another name.");
  }
  const [{ readTrace }, { renderTracePage }] = await Promise.all([
    import("../rlm/trace.js"),
    import("../rlm/trace-page.js"),
  ]);
  const { events, torn } = await readTrace(file);
  const page = renderTracePage(events);
  for (const line of torn) complain(`${file}:${line} was not written to its end, and is left out`);
  if (out === "-") process.stdout.write(page);
  else await writePage(out, page);
  return EXIT.ok;
}

/** By whatever names and links. */
async function areSame(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all(
    [one, other].map((path) => stat(path).catch(() => null)),
  );
  return first?.ino !== undefined && first.ino === second?.ino && first.dev === second.dev;
}

function pageOf(file: string): string {
  return `${file.slice(0, file.length - extname(file).length)}.html`;
}

/** As private as a trace is: all that was asked and answered stands in it. */
async function writePage(path: string, page: string): Promise<void> {
  try {
    await writeFile(path, page, { mode: 0o600 });
  } catch (error) {
    throw new CellarError("IO_ERROR", `${path} cannot be written: ${describeError(error)}`, {
      remedy: "Give --out a file in a folder that is there and can be written.",
      details: { named: path },
      cause: error,
    });
  }
  process.stdout.write(`${resolve(path)}\n`);
}
