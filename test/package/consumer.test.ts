import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { describeError } from "../../src/errors.js";
import { Consumer, type Finished } from "./consumer.js";
import { sourceMapsIn, strayImports, strayLinks, unmarked, unmarkedIn } from "./contents.js";
import {
  comparable,
  EXAMPLES,
  type Example,
  LIBRARIES,
  runExamples,
  writeExamples,
} from "./examples.js";
import { Loopback } from "./loopback.js";

const HEAVIEST_MB = 45;

const TYPES = [
  ...["", "/notebook", "/agent", "/rlm", "/server", "/tools"].map(
    (entry, index) => `export * as entry${index} from "cellar${entry}";`,
  ),
  'import { createSandbox } from "cellar";',
  "await using sandbox = await createSandbox();",
  "console.log((await sandbox.execute('1')).duration.toFixed());",
].join("\n");

const MODULES = [{ module: "nodenext" }, { module: "esnext", moduleResolution: "bundler" }];
const COMPILERS = ["typescript", "typescript-5.9"];

const PROGRAM = [
  'import { createSandbox, shutdown } from "cellar";',
  "async function main() {",
  "  const sandbox = await createSandbox();",
  "  console.log((await sandbox.execute('6 * 7')).result?.['text/plain']);",
  "  await shutdown();",
  "}",
  "main().catch(({ code, message, remedy }) => console.log(code, message, remedy));",
].join("\n");

const loopback = await Loopback.open();
const consumer = Consumer.open();

/** Why something cannot be tried here. */
let obstacle: string | undefined;
let noSession: string | undefined;
let noLibraries: string | undefined;

beforeAll(async () => {
  const tarball = await consumer.pack();
  try {
    await consumer.install(tarball);
  } catch (error) {
    obstacle = `npm cannot install what the package depends on: ${describeError(error)}`;
    return;
  }
  consumer.link("@types/node");
  const [session, libraries] = await Promise.all([
    consumer.start("trial", ["cellar", "exec", "-c", "6 * 7"]),
    consumer.start("trial", [LIBRARIES, "-c", "import matplotlib, pandas"]).catch(() => undefined),
  ]);
  if (session.code !== 0) noSession = `no session can be started: ${session.stderr}`;
  if (libraries?.code !== 0) noLibraries = "the checkout's .venv has no pandas and matplotlib";
});

afterAll(async () => {
  consumer[Symbol.dispose]();
  await loopback[Symbol.asyncDispose]();
});

function needs(ctx: TestContext, ...reasons: readonly (string | undefined)[]): void {
  const reason = reasons.find((one) => one !== undefined);
  if (reason !== undefined) ctx.skip(reason);
}

describe("the package", () => {
  it("has all that its documents link to", (ctx) => {
    needs(ctx, obstacle);
    expect(existsSync(join(consumer.cellar, "docs", "library.md"))).toBe(true);
    expect(strayLinks(consumer.cellar)).toEqual([]);
  });

  it("says what is of a checkout, wherever it tells of it", (ctx) => {
    needs(ctx, obstacle);
    expect(unmarkedIn(consumer.cellar)).toEqual([]);
    const manifest = JSON.parse(readFileSync(join(consumer.cellar, "package.json"), "utf8"));
    expect(Object.keys(manifest)).not.toContain("scripts");
    expect(unmarked("a.md", "# A\n\n## B\n\n`npm run demo`\n\nsee `test/x.ts`\n")).toHaveLength(2);
  });

  it("imports only what it depends on, and has no source maps", (ctx) => {
    needs(ctx, obstacle);
    expect(strayImports(consumer.cellar)).toEqual([]);
    expect(sourceMapsIn(consumer.cellar)).toEqual([]);
  });

  it("keeps the licences of the code that was taken into it", (ctx) => {
    needs(ctx, obstacle);
    const text = readFileSync(join(consumer.cellar, "dist", "vendor", "LICENSES.txt"), "utf8");
    expect(text).toMatch(/^gpt-tokenizer \d/m);
    expect(text).toMatch(/^@modelcontextprotocol\/server \d/m);
  });

  it("counts tokens as the tokenizer does that it was taken from", async (ctx) => {
    needs(ctx, obstacle);
    const file = "dist/vendor/gpt-tokenizer/encoding/o200k_base.js";
    const own: { encode(text: string): number[] } = await import(join(consumer.cellar, file));
    for (const page of ["docs/policy.md", "demo/moby-dick.txt"]) {
      const text = `${readFileSync(join(consumer.cellar, page), "utf8")} ñ 漢字 🦊`;
      expect(own.encode(text)).toEqual(encode(text));
    }
  });

  it(`weighs less than ${HEAVIEST_MB} MB with all that it brings`, (ctx) => {
    needs(ctx, obstacle);
    expect(consumer.weight()).toBeGreaterThan(10);
    expect(consumer.weight()).toBeLessThan(HEAVIEST_MB);
  });
});

describe("the types", () => {
  it.for(COMPILERS.flatMap((compiler) => MODULES.map((options) => ({ compiler, ...options }))))(
    "are right for $compiler with $module",
    async ({ compiler, ...options }, ctx) => {
      needs(ctx, obstacle);
      consumer.write("types/types.ts", TYPES);
      const strict = { ...options, skipLibCheck: false, noEmit: true };
      expect(await consumer.compile(compiler, "types", strict)).toBe("");
    },
  );
});

describe("a bundle", () => {
  const bundled = async (ctx: TestContext, name: string, external: string[]) => {
    needs(ctx, obstacle, noSession);
    consumer.write("bundled.mjs", PROGRAM);
    const entryPoints = [join(consumer.folder, "bundled.mjs")];
    const outfile = join(consumer.folder, "bundles", `${name}.mjs`);
    const options = { bundle: true, platform: "node", format: "esm", logLevel: "error" } as const;
    await build({ ...options, entryPoints, outfile, external });
    return await consumer.start("bundles", [process.execPath, outfile]);
  };

  it("works with cellar as external", async (ctx) => {
    expect((await bundled(ctx, "external", ["cellar"])).stdout).toBe("42\n");
  });

  it("with cellar in it says to make it external, and nothing of isolation", async (ctx) => {
    const { stdout } = await bundled(ctx, "whole", []);
    expect(stdout).toMatch(/^PACKAGE_INCOMPLETE Cellar's own files are not at \S+ Mark cellar as/);
    expect(stdout).not.toMatch(/isolation|L1/);
  });
});

describe("the examples", () => {
  let complaints = "";
  let runs = new Map<Example, Promise<readonly Finished[]>>();
  const lack = ({ needsLibraries }: Example) =>
    obstacle ?? noSession ?? (needsLibraries ? noLibraries : undefined);

  beforeAll(async () => {
    if (obstacle !== undefined) return;
    consumer.linkOthers();
    writeExamples(consumer, loopback.origin);
    // The types of other packages are theirs.
    const options = { module: "nodenext", skipLibCheck: true, outDir: "compiled" };
    complaints = await consumer.compile("typescript", "examples", options);
    if (complaints === "") runs = runExamples(consumer, loopback.origin, (one) => !lack(one));
  });

  it("have the right types", (ctx) => {
    needs(ctx, obstacle);
    expect(complaints).toBe("");
  });

  it.for(EXAMPLES)("$name runs, and again where it left files", async (example, ctx) => {
    needs(ctx, lack(example));
    const finished = (await runs.get(example)) ?? [];
    expect(finished).toHaveLength(example.leavesFiles ? 2 : 1);
    expect(finished.flatMap(({ code, stderr }) => (code === 0 ? [] : [stderr]))).toEqual([]);
    const failed = finished.flatMap(({ stderr }) => stderr.match(/^CELL FAILED .*$/gm) ?? []);
    if (!example.raises) expect(failed).toEqual([]);
    const said = comparable(finished[0]?.stdout ?? "");
    expect(example.claims.filter((claim) => !said.includes(comparable(claim)))).toEqual([]);
  });
});
