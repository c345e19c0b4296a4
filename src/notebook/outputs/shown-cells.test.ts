import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { PNG, Showing } from "../../../test/support/notebook/shown-outputs.js";
import type { NativeRuntime } from "../../backends/native/runtime.js";
import type { NativePythonSandbox } from "../../backends/native/sandbox.js";
import type { CellOutput } from "../cell.js";

const showing = new Showing();

describe("outputs of real cells", () => {
  let runtime: NativeRuntime | undefined;
  let sandbox: NativePythonSandbox;
  let unavailable: string | undefined;

  beforeAll(async () => {
    ({ runtime, unavailable } = await openNativeRuntime());
    if (unavailable === undefined) {
      sandbox = await runtime.createSandbox({ preload: "none", poolSize: 0 });
    }
  });

  afterAll(async () => {
    showing[Symbol.dispose]();
    await runtime?.[Symbol.asyncDispose]();
  });

  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  async function cell(code: string) {
    const ran = await sandbox.execute(code);
    expect(ran.error?.traceback).toBeUndefined();
    return (await showing.outputs(ran)).outputs;
  }

  async function has(module: string): Promise<boolean> {
    const { result } = await sandbox.execute(
      `import importlib.util; importlib.util.find_spec("${module}") is not None`,
    );
    return result?.["text/plain"] === "True";
  }

  it("have frames of pandas as tables", async (context) => {
    if (!(await has("pandas"))) context.skip("pandas is not installed");
    const made = await cell(`import pandas as pd
f = pd.DataFrame({"a": range(1000), "b": "x"})
print("before")
display(f)
f.head(2)`);
    expect(made.map(({ type }) => type)).toEqual(["TEXT", "DATAFRAME", "DATAFRAME"]);
    expect(made[1]).toMatchObject({ shape: [1000, 2], truncated: true, isResult: false });
    expect(made[2]).toMatchObject({
      columns: ["a", "b"],
      rows: [
        [0, "x"],
        [1, "x"],
      ],
      index: [0, 1],
      truncated: false,
      isResult: true,
      html: expect.stringContaining("<table"),
      text: expect.stringContaining("a  b"),
    });
  });

  it("have frames of polars as tables", async (context) => {
    if (!(await has("polars"))) context.skip("polars is not installed");
    const made = await cell('import polars as pl\npl.DataFrame({"a": [1, None]})');
    expect(made).toMatchObject([
      { type: "DATAFRAME", columns: ["a"], dtypes: ["Int64"], rows: [[1], [null]], shape: [2, 1] },
    ]);
    expect(made[0]).not.toHaveProperty("index");
  });

  it("have figures as images", async (context) => {
    if (!(await has("matplotlib"))) context.skip("matplotlib is not installed");
    const made = await cell(`import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
print("one")
plt.plot([1, 2]); plt.show()
print("two")
plt.plot([2, 1])
fig = plt.gcf()
fig`);
    // A figure that is the value and still open is shown twice, as in Jupyter.
    const kinds = ["TEXT", "IMAGE", "TEXT", "IMAGE", "IMAGE"];
    expect(made.map(({ type }) => type)).toEqual(kinds);
    const [, shown, , result] = made as [unknown, CellOutput & { type: "IMAGE" }, unknown, unknown];
    expect(shown.width).toBeGreaterThan(100);
    expect(shown.height).toBeGreaterThan(100);
    expect(shown.isResult).toBe(false);
    expect(result).toMatchObject({ uri: "notebook://cell/0/image/1", isResult: true });
    const open = await cell("plt.plot([3, 1]); plt.title('left open'); 7");
    expect(open).toMatchObject([{ type: "TEXT", stream: "result", text: "7" }, { type: "IMAGE" }]);
  });

  it("have what objects say of themselves", async () => {
    const made = await cell(`class Shown:
    def __init__(self, **forms): self.forms = forms
    def __repr__(self): return "shown"
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {k.replace("_", "/"): v for k, v in self.forms.items()}, {"text/html": {"wide": 1}}
class Picture:
    def __repr__(self): return "picture"
    def _repr_png_(self): return bytes.fromhex("${PNG.toString("hex")}"), {"width": 9}
display(Shown(text_markdown="# m"), Shown(text_latex="$l$"), Shown(application_json={"k": 1}))
class Drawing:
    def __repr__(self): return "drawing"
    def _repr_svg_(self): return "<svg/>"
display(Drawing(), Picture())
Drawing()`);
    expect(made).toEqual([
      { type: "MARKDOWN", markdown: "# m", text: "shown", isResult: false },
      { type: "LATEX", latex: "$l$", text: "shown", isResult: false },
      { type: "JSON", json: { k: 1 }, text: "shown", isResult: false },
      { type: "SVG", svg: "<svg/>", text: "drawing", isResult: false },
      {
        type: "IMAGE",
        mime: "image/png",
        uri: "notebook://cell/0/image/0",
        width: 3,
        height: 2,
        text: "picture",
        isResult: false,
        metadata: { "image/png": { width: 9 } },
      },
      { type: "SVG", svg: "<svg/>", text: "drawing", isResult: true },
    ]);
  });

  it("tell of exceptions after what was printed", async () => {
    const ran = await sandbox.execute("print('x')\n1 / 0");
    const made = await showing.outputs(ran);
    expect(made.outputs).toMatchObject([
      { type: "TEXT", stream: "stdout", text: "x\n" },
      { type: "ERROR", name: "ZeroDivisionError", message: "division by zero" },
    ]);
  });
});
