import { existsSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { shutdown } from "../../../src/index.js";
import { AcceptedDifferences } from "./accepted.js";
import { runCampaign } from "./campaign.js";
import { findKernel } from "./jupyter-side.js";
import { jsonOf, reportOf, totalsOf } from "./report.js";
import { findSources } from "./sources.js";

const PRELOADS = ["full", "standard", "none"] as const;
type Preload = (typeof PRELOADS)[number];

const USAGE = `npm run compat -- [PATHS...] [options]

Runs notebooks (.ipynb, .py) through Notebook and through ipykernel, and tells which cells differ.
Without paths: the corpus of this repository, with its accepted differences.

  --python PATH      interpreter or venv of both sides (default: .venv)
  --timeout SECONDS  of a cell (60)
  --memory MB        of a session (2048)
  --parallel N       notebooks at a time (2)
  --preload NAME     ${PRELOADS.join(", ")} (full)
  --twice            runs ipykernel twice, to tell apart what differs by chance
  --only TEXT        notebooks whose name contains it; may be given several times
  --limit N          at most so many notebooks
  --no-pixels        compares the number of images alone
  --accept FILE      differences that are accepted, as JSON
  --json FILE        writes the whole report there`;

const OPTIONS = {
  python: { type: "string" },
  timeout: { type: "string", default: "60" },
  memory: { type: "string", default: "2048" },
  parallel: { type: "string", default: "2" },
  preload: { type: "string", default: "full" },
  twice: { type: "boolean", default: false },
  only: { type: "string", multiple: true, default: [] as string[] },
  limit: { type: "string", default: "100000" },
  "no-pixels": { type: "boolean", default: false },
  accept: { type: "string" },
  json: { type: "string" },
  help: { type: "boolean", default: false },
  /** From scripts/compat.mjs. */
  root: { type: "string", default: "." },
} as const;

process.exitCode = await main();

async function main(): Promise<number> {
  let order: ReturnType<typeof read>;
  try {
    order = read();
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    return 2;
  }
  if (order.values.help) {
    console.log(USAGE);
    return 0;
  }
  const stopping = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stopping.abort());
  try {
    return await compare(order, stopping.signal);
  } catch (error) {
    console.error((error as Error).message);
    return 2;
  } finally {
    await shutdown();
  }
}

async function compare(order: ReturnType<typeof read>, signal: AbortSignal): Promise<number> {
  const { values, paths, accept, python, preload } = order;
  const { sources, unusable } = findSources(paths);
  for (const problem of unusable) console.error(`left out: ${problem}`);
  const wanted = sources
    .filter(({ name }) => values.only.length === 0 || values.only.some((one) => name.includes(one)))
    .filter(({ cells }) => cells.length > 0)
    .slice(0, Number(values.limit));
  if (wanted.length === 0)
    throw new Error(`no notebook with code was found in ${paths.join(", ")}`);
  const accepted =
    accept === undefined ? new AcceptedDifferences([]) : AcceptedDifferences.read(accept);
  const kernel = await findKernel(python);
  const network = kernel.isWalled ? "without a network" : "WITH the machine's network: no bwrap";
  console.error(`${kernel.versions}, ${network}; ${wanted.length} notebooks`);
  const notebooks = await runCampaign(wanted, {
    kernel,
    program: join(values.root, "test", "compat", "tool", "jupyter_side.py"),
    preload,
    timeoutMs: Math.round(Number(values.timeout) * 1000),
    memoryMb: Number(values.memory),
    parallel: Number(values.parallel),
    twice: values.twice,
    pixels: !values["no-pixels"],
    accepted,
    signal,
    say: (line) => console.error(line),
  });
  console.log(reportOf(notebooks, accepted.idle));
  const facts = { versions: kernel.versions, isWalled: kernel.isWalled, unusable };
  if (values.json !== undefined) writeFileSync(values.json, jsonOf(notebooks, facts));
  if (signal.aborted) console.error("stopped before its end");
  const isWhole = notebooks.length === wanted.length && unusable.length === 0;
  return isWhole && totalsOf(notebooks).verdicts.different === 0 ? 0 : 1;
}

/** What was asked for; fails with what does not fit. */
function read() {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  for (const name of ["timeout", "memory", "parallel", "limit"] as const) {
    if (!/^[1-9]\d{0,6}$/.test(values[name])) {
      throw new Error(`--${name} must be a whole number from 1 on, not ${values[name]}`);
    }
  }
  const preload = PRELOADS.find((name) => name === values.preload);
  if (preload === undefined) throw new Error(`--preload knows no ${values.preload}`);
  const home = join(values.root, "test", "compat");
  const paths = positionals.length > 0 ? positionals : [join(home, "corpus")];
  const accept =
    values.accept ?? (positionals.length > 0 ? undefined : join(home, "accepted.json"));
  const python = interpreterAt(values.python ?? join(values.root, ".venv"));
  return { values, paths, accept, python, preload: preload satisfies Preload };
}

/** The interpreter of a virtual environment; any other path is one already. */
function interpreterAt(path: string): string {
  const inner = join(resolve(path), "bin", "python");
  if (existsSync(inner)) return inner;
  return path.includes("/") ? resolve(path) : path;
}
