import { stat } from "node:fs/promises";
import { extname, resolve } from "node:path";
import type { Command } from "commander";
import { tellWritten, writeHostFile } from "../exec/host-files.js";
import { EXIT } from "../exit-codes.js";
import { complain, invalidInput } from "../terminal/report-error.js";

interface ViewOptions {
  readonly out?: string;
  readonly force?: true;
}

export function registerTrace(program: Command, finish: (code: number) => void): void {
  program
    .command("trace")
    .description("look at what a run of cellar rlm did")
    .command("view")
    .description("write the trace as one page for a browser, and tell where it is")
    .argument("<file>", "what --trace wrote")
    .option("--out <page>", "the page, - for stdout (default: FILE with .html at its end)")
    .option("--force", "replace a page that is there")
    .action(async (file: string, options: ViewOptions) => finish(await view(file, options)));
}

async function view(file: string, { out = pageOf(file), force }: ViewOptions): Promise<number> {
  if (out !== "-" && (await areSame(out, file))) {
    throw invalidInput(`the page would be written over ${file}`, "Give --out another name.");
  }
  const [{ readTrace }, { renderTracePage }] = await Promise.all([
    import("../../rlm/trace/trace.js"),
    import("../../rlm/trace/page/page.js"),
  ]);
  const { events, torn } = await readTrace(file);
  const page = renderTracePage(events);
  for (const line of torn) complain(`${file}:${line} is incomplete and is left out`);
  if (out === "-") {
    process.stdout.write(page);
    return EXIT.ok;
  }
  // As private as a trace is: all that was asked and answered stands in it.
  tellWritten(await writeHostFile(out, page, { force, mode: 0o600 }));
  process.stdout.write(`${resolve(out)}\n`);
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
