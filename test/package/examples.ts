import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { pages, root } from "./blocks.js";
import { commandsOf } from "./commands.js";
import type { Consumer, Finished } from "./consumer.js";
import { programsOf } from "./programs.js";

/** How many run at the same time: most of an example is waiting for processes to start. */
const LANES = availableParallelism() + 1;
/** What leaves files in the project or in the home, which a second run then finds. */
const LEAVES_FILES =
  /\b(?:Notebook\.|AgentRepl\.|openTools|writeFile|(?:dir|record|trace): )|"(?:daemon|pyodide)"/;
const COMMAND_LEAVES_FILES = /\bcellar (?:notebook|daemon|mcp|rlm|repl)\b|--out |--backend /;
const WATCHER = "failed-cells.mjs";

/** What examples find in their folder. */
const FILES: Readonly<Record<string, string>> = {
  "book.txt": "Call me Ishmael.\nA white whale was seen.\n",
  "server.log": "INFO boot\nERROR disk sda1 of host db-3 is full\nINFO retry\n",
  "logs/today.txt": "nothing happened\n",
  "src/main.py": "print('hello')\n",
  "README.md": "# A project\n",
  "script.py": "print('a script')\n",
  "report.py": "print('a report')\n",
};

/** A program or a command of a page. */
export interface Example {
  readonly page: string;
  readonly name: string;
  readonly command: readonly string[];
  readonly needsLibraries: boolean;
  readonly claims: readonly string[];
  readonly raises: boolean;
  readonly startsDaemon: boolean;
  /** Runs twice: the second run could differ. */
  readonly leavesFiles: boolean;
  /** The file of a program, and its text. */
  readonly source?: readonly [path: string, text: string];
}

export const EXAMPLES: readonly Example[] = pages().flatMap((page) => [
  ...programsOf(page).map(({ source, ...program }): Example => {
    const file = program.name.replace(/\W+/g, "-");
    const command = [process.execPath, "--import", `./${WATCHER}`, `compiled/${file}.js`];
    const startsDaemon = source.includes('backend: "daemon"');
    const leavesFiles = LEAVES_FILES.test(source);
    const path = `examples/${file}.ts`;
    return { ...program, command, startsDaemon, leavesFiles, source: [path, source] };
  }),
  ...commandsOf(page).map(({ line, needsLibraries }): Example => {
    const startsDaemon = line.includes("daemon");
    const command = ["sh", "-c", line];
    return {
      page,
      name: `${page}: ${line}`,
      command,
      needsLibraries,
      claims: [],
      raises: false,
      startsDaemon,
      leavesFiles: COMMAND_LEAVES_FILES.test(line),
    };
  }),
]);

/** Puts the examples into a project, as TypeScript. */
export function writeExamples(consumer: Consumer, origin: string): void {
  for (const [path, text] of Object.entries(FILES)) consumer.write(path, text);
  for (const { source: [path, text] = ["", ""] } of EXAMPLES) {
    if (path !== "") consumer.write(path, text.replaceAll("ORIGIN", origin));
  }
  consumer.write(WATCHER, readFileSync(join(root, "test", "package", WATCHER), "utf8"));
}

/** Runs those of a page one after the other, and pages at the same time. */
export function runExamples(
  consumer: Consumer,
  origin: string,
  isPossible: (example: Example) => boolean,
): Map<Example, Promise<readonly Finished[]>> {
  const runs = new Map<Example, Promise<readonly Finished[]>>();
  const queue = [...new Set(EXAMPLES.map(({ page }) => page))];
  const tell = new Map<Example, (finished: Promise<Finished[]>) => void>();
  for (const example of EXAMPLES) {
    runs.set(example, new Promise((resolve) => tell.set(example, resolve)));
  }
  const runPages = async () => {
    for (let page = queue.shift(); page !== undefined; page = queue.shift()) {
      const examples = EXAMPLES.filter((one) => one.page === page && isPossible(one));
      for (const example of examples) {
        const finished = runExample(consumer, example, origin);
        tell.get(example)?.(finished);
        await finished.catch(() => {});
      }
      if (examples.some(({ startsDaemon }) => startsDaemon)) {
        await consumer.start(page, ["cellar", "daemon", "stop"]).catch(() => {});
      }
    }
  };
  for (let lane = 0; lane < LANES; lane++) void runPages();
  return runs;
}

async function runExample(
  consumer: Consumer,
  { page, command, needsLibraries, leavesFiles }: Example,
  origin: string,
): Promise<Finished[]> {
  const runs: Finished[] = [];
  const line = command.map((word) => word.replaceAll("ORIGIN", origin));
  for (let time = 0; time < (leavesFiles ? 2 : 1); time++) {
    runs.push(await consumer.start(page, line, environment(origin, needsLibraries)));
  }
  return runs;
}

function environment(origin: string, needsLibraries: boolean): Record<string, string> {
  return {
    OPENAI_BASE_URL: `${origin}/v1`,
    OPENAI_API_KEY: "none-at-all",
    ANTHROPIC_BASE_URL: origin,
    ANTHROPIC_API_KEY: "none-at-all",
    EXAMPLE_KEY: "none-at-all",
    EMBEDDINGS_KEY: "none-at-all",
    // What is started ahead, or imported without being used, only takes time.
    CELLAR_POOL_SIZE: "1",
    ...(needsLibraries && { CELLAR_PYTHON: LIBRARIES, CELLAR_PRELOAD: "standard" }),
  };
}

/** The checkout's own environment, which has what `cellar install pandas matplotlib` would bring. */
export const LIBRARIES = join(root, ".venv", "bin", "python");

/** Levels differ between users, and times between runs. */
export function comparable(text: string): string {
  return text.replace(/\bL3-?(?!\w)/g, "L3").replace(/\b\d+(?:\.\d+)? ms\b/g, "N ms");
}
