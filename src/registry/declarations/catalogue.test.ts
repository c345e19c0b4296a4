import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import type { NativeRuntime } from "../../backends/native/runtime.js";
import { hostEnvironment } from "../../config/environment.js";
import { ToolError, type ToolOutput, type ToolSource } from "../tool.js";
import { moduleOf } from "./python-files.js";
import { declarationSource, readDeclarations } from "./source.js";

/** Those of the original, and one beside them. */
const NAMES =
  "http_get http_post web_search web_research fetch_wikipedia json_query csv_to_json json_to_csv sql_query " +
  "plot_braille plot_function histogram plot_sixel render_math python_eval run_shell git_status lint_python " +
  "calculate statistics monte_carlo symbolic_solve matrix_solve matrix_eigenvalues matrix_svd solve_ode optimize " +
  "monte_carlo_native mcmc bayesopt read_file write_file list_directory archive_open archive_extract archive_file " +
  "archive_search embed_text similarity_search classify_text ocr_extract math_simplify";

const BUILTINS =
  "http_get http_post web_search web_research fetch_wikipedia python_eval run_shell git_status read_file write_file " +
  "list_directory archive_open archive_extract archive_file archive_search";

const CATALOGUE = join(hostEnvironment().packageRoot, "catalogue", "tools.yaml");

describe("the catalogue", () => {
  let runtime: NativeRuntime;
  let unavailable: string | undefined;
  let source: ToolSource;
  let skip: (reason: string) => never;

  beforeAll(async () => {
    ({ runtime, unavailable } = await openNativeRuntime({ poolSize: 0 }));
    source = declarationSource(CATALOGUE, {
      open: async (config) =>
        await runtime.createSandbox({ preload: "none", poolSize: 1, ...config }),
    });
  });
  beforeEach((context) => {
    skip = context.skip;
    if (unavailable !== undefined) context.skip(unavailable);
  });
  afterAll(async () => {
    await source?.[Symbol.asyncDispose]();
    await runtime?.[Symbol.asyncDispose]();
  });

  async function call(name: string, given: Record<string, unknown>): Promise<ToolOutput> {
    const tool = (await source.tools()).find((one) => one.name === name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    const { signal } = new AbortController();
    return await tool.run({ arguments: given, signal }).catch((error: unknown) => {
      const isLacking = error instanceof ToolError && error.message.includes("Python library");
      if (isLacking) skip(error.message);
      throw error;
    });
  }

  it("has the 41 tools and math_simplify, each with an example that calls it", async () => {
    const tools = await source.tools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(NAMES.split(" ").toSorted());
    const silent = tools.filter(
      ({ name, examples }) => !examples.some((one) => one.includes(`${name}(`)),
    );
    expect(silent.map(({ name }) => name)).toEqual([]);
  });

  it("has functions of the host where the session or the network is needed, and says if one is not there", async () => {
    const { tools } = await readDeclarations(CATALOGUE);
    const builtins = tools.flatMap(({ implementation }) =>
      implementation.type === "builtin" ? [implementation.name] : [],
    );
    expect(builtins).toEqual(BUILTINS.split(" "));
    await expect(call("http_get", { url: "http://127.0.0.1/" })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "http_get needs the host's function http_get, which is not connected here",
    });
  });

  it("declares the parameters of each function, in their order", async () => {
    const { tools, files } = await readDeclarations(CATALOGUE);
    const different = tools.flatMap(({ implementation, parameters, declaration: { name } }) => {
      if (implementation.type !== "python") return [];
      const text = files.get(moduleOf(implementation.file)) ?? "";
      const head = new RegExp(`^def ${implementation.function}\\((.*)\\) ->`, "m").exec(text)?.[1];
      const written = head?.split(", ").map((one) => one.replace(/=.*/, ""));
      return written?.join() === [...parameters.keys()].join() ? [] : [name];
    });
    expect(different).toEqual([]);
  });

  it("is on its page: each call, and what it does", async () => {
    const page = readFileSync(
      join(hostEnvironment().packageRoot, "docs", "tools-catalogue.md"),
      "utf8",
    );
    const { tools } = await readDeclarations(CATALOGUE);
    const untold = tools.filter(({ declaration: { name, description }, parameters }) => {
      const list = [...parameters].map(([key, one]) =>
        one.required ? key : `${key}=${literal(one.default)}`,
      );
      return !page.includes(`| \`${name}(${list.join(", ")})\` | ${description} | `);
    });
    expect(untold.map(({ declaration }) => declaration.name)).toEqual([]);
  });

  it("changes nothing outside with any tool that only computes", async () => {
    const tools = await source.tools();
    const compute = tools.filter(({ name }) => !BUILTINS.split(" ").includes(name));
    expect(
      compute.filter(
        ({ isReadOnly, permissions }) => !isReadOnly || permissions.join() !== "compute",
      ),
    ).toEqual([]);
  });

  it.each([
    [
      "math_simplify",
      { expression: "x^2 + 2x + 1" },
      { simplified: "(x+1)^2", steps: ["read as x^2+2*x+1", "factor: (x+1)^2"] },
    ],
    ["calculate", { expression: "comb(52, 5)" }, 2_598_960],
    [
      "sql_query",
      { query: "select sum(v) as total from t", tables: { t: [{ v: 1 }, { v: 2 }] } },
      [{ total: 3 }],
    ],
    ["json_query", { data: { a: [{ b: 1 }, { b: 2 }] }, query: "a[*].b" }, [1, 2]],
    [
      "plot_braille",
      { y: [0, 1, 2, 3], width: 2, height: 1 },
      { plot: "⡠⠊", x: [0, 3], y: [0, 3] },
    ],
    [
      "matrix_solve",
      {
        a: [
          [2, 0],
          [0, 4],
        ],
        b: [2, 2],
      },
      { x: [1, 0.5], method: "lu", residual: 0, condition: 2 },
    ],
    [
      "lint_python",
      { code: "import os\n" },
      {
        problems: [
          {
            code: "F401",
            message: "`os` imported but unused",
            line: 1,
            column: 8,
            fixable: true,
          },
        ],
        count: 1,
      },
    ],
  ])("computes %s inside a sandbox", async (name, given, expected) => {
    expect((await call(name, given)).value).toEqual(expected);
  });

  it.each([
    ["plot_function", { expression: "sin(x)/x" }],
    ["render_math", { latex: "\\frac{a}{b}" }],
    ["mcmc", { log_density: "-x^2/2", start: { x: 0 }, samples: 500 }],
    ["bayesopt", { expression: "(x - 2)^2", bounds: { x: [0, 5] }, iterations: 3 }],
    ["embed_text", { texts: ["a red car"], dimensions: 16 }],
  ])("gives equal bytes for equal input to %s", async (name, given) => {
    expect(await call(name, given)).toEqual(await call(name, given));
  });

  it("displays a plot", async () => {
    const { displays } = await call("histogram", { values: [1, 2, 2, 3] });
    expect(displays).toMatchObject([{ mime: "image/png" }]);
  });

  it("tells what is wrong with the input", async () => {
    await expect(call("calculate", { expression: "1/0" })).rejects.toMatchObject({
      code: "FAILED",
      message: "calculate failed: ValueError: '1/0' divides by zero",
    });
    await expect(call("calculate", { expression: "__import__('os')" })).rejects.toMatchObject({
      code: "FAILED",
    });
  });
});

/** A default as Python writes it. */
function literal(value: unknown): string {
  if (value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}
