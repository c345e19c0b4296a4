import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeError } from "../../src/errors.js";
import { pages, root } from "./blocks.js";
import { Consumer, type Finished } from "./consumer.js";
import { Loopback } from "./loopback.js";
import { type Program, programsOf } from "./programs.js";

const run = promisify(execFile);

/** As `tsc --init` of TypeScript 7 would have it, and nothing passed over. */
const STRICT = { strict: true, skipLibCheck: false, target: "es2022" };
const MODULES = [
  { module: "nodenext" },
  { module: "esnext", moduleResolution: "bundler" },
] as const;

/** What the examples find in their folder. */
const FILES: Readonly<Record<string, string>> = {
  "book.txt": "Call me Ishmael.\nA white whale was seen.\n",
  "server.log": "INFO boot\nERROR disk sda1 of host db-3 is full\nINFO retry\n",
  "logs/today.txt": "nothing happened\n",
  "src/main.py": "print('hello')\n",
  "README.md": "# A project\n",
};

const programs = pages().flatMap(programsOf);
const libraries = join(root, ".venv", "bin", "python");

let consumer: Consumer;
let loopback: Loopback;
let obstacle: string | undefined;
const runs = new Map<string, Promise<readonly Finished[]>>();

const fileOf = ({ name }: Program) => name.replace(/\W+/g, "-");

beforeAll(async () => {
  loopback = await Loopback.open();
  consumer = await Consumer.make();
  try {
    await consumer.install();
  } catch (error) {
    obstacle = `the package's dependencies cannot be had: ${describeError(error)}`;
    return;
  }
  for (const [path, text] of Object.entries(FILES)) consumer.write(path, text);
  for (const program of programs) {
    consumer.write(
      `blocks/${fileOf(program)}.ts`,
      program.source.replaceAll("ORIGIN", loopback.origin),
    );
  }
});

afterAll(async () => {
  consumer?.[Symbol.dispose]();
  await loopback?.[Symbol.asyncDispose]();
});

async function compile(compiler: string, options: object): Promise<string> {
  const file = "tsconfig.json";
  const compilerOptions = { ...STRICT, outDir: "out", rootDir: "blocks", ...options };
  consumer.write(file, JSON.stringify({ compilerOptions, include: ["blocks"] }));
  const tsc = join(root, "node_modules", compiler, "bin", "tsc");
  return await run(process.execPath, [tsc, "-p", consumer.folder]).then(
    () => "",
    (error) => String(error.stdout),
  );
}

it("a", async () => {
  consumer.linkOthers();
  const t = Date.now();
  console.log(await compile("typescript", MODULES[0]));
  console.log("tsc", Date.now() - t);
});

describe.concurrent("x", () => {
  it.each(pages())("%s", async (page) => {
    for (const program of programsOf(page)) {
      for (const time of [1, 2]) {
        const t = Date.now();
        const r = await consumer.start([process.execPath, `out/${fileOf(program)}.js`], {
          CELLAR_PYTHON: program.needsLibraries ? libraries : "/usr/bin/python3",
          OPENAI_BASE_URL: `${loopback.origin}/v1`,
          OPENAI_API_KEY: "none",
          ANTHROPIC_BASE_URL: loopback.origin,
          ANTHROPIC_API_KEY: "none",
          EXAMPLE_KEY: "none-at-all",
          EMBEDDINGS_KEY: "none-at-all",
        });
        const missing = program.claims.filter((c) => !r.stdout.includes(c));
        console.log(`#### ${program.name} #${time} code=${r.code} ${Date.now() - t}ms`, r.code !== 0 || missing.length > 0 || program.name.includes(process.env.SHOW ?? "NOPE") ? JSON.stringify({ missing, out: r.stdout.slice(-1500), err: r.stderr.slice(-1500) }, null, 1).replaceAll("\\n", "\n") : "");
      }
    }
  });
});
