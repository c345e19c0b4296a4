import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { AcceptedDifferences } from "./tool/accepted.js";
import { type JudgedNotebook, judgeCells } from "./tool/campaign.js";
import { type Evidence, judge } from "./tool/judgement.js";
import { findKernel } from "./tool/jupyter-side.js";
import type { CellRecord, SideRecord } from "./tool/record.js";
import { reportOf, totalsOf } from "./tool/report.js";
import { cellsOfScript, hasMarks } from "./tool/script-cells.js";
import { findSources } from "./tool/sources.js";
import { copySurroundings, surroundingsOf } from "./tool/surroundings.js";

const folder = mkdtempSync(join(tmpdir(), "cellar-compat-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

const put = (path: string, content: string) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
  return join(folder, path);
};
const said = (text: string): CellRecord => ({
  state: "ok",
  outputs: [{ output_type: "stream", name: "stdout", text }],
});
const failed = (ename: string): CellRecord => ({
  state: "error",
  outputs: [{ output_type: "error", ename, evalue: "" }],
});
const side = (...cells: CellRecord[]): SideRecord => ({ cells, seconds: 0, notes: [] });
const difference = (what: "stdout" | "state") => ({ what, cellar: "a", jupyter: "b" });
const ACCEPTED = [
  { notebook: "a.py", cell: 0, classes: ["stdout" as const], reason: "on purpose, as told" },
  { notebook: "a.py", cell: 3, classes: ["stdout" as const], reason: "as it was before" },
  { notebook: "a.py", cell: 9, classes: ["stdout" as const], reason: "a cell that never ran" },
  { notebook: "a.py", cell: "input(", classes: ["stdout" as const], reason: "no terminal here" },
];

describe("the verdict about a cell", () => {
  const evidence = (more: Partial<Evidence>): Evidence => ({
    code: "x",
    differences: [difference("stdout")],
    jupyter: said("b"),
    again: undefined,
    afterTimeout: false,
    isAccepted: false,
    ...more,
  });
  it.each([
    ["alike", { differences: [] }],
    ["different", {}],
    ["different", { again: [] }],
    ["chance", { again: [difference("stdout")] }],
    ["time", { again: [difference("stdout")], code: "%timeit f()" }],
    // A random number is no excuse for an error.
    ["different", { again: [difference("stdout")], differences: [difference("state")] }],
    ["different", { code: "%timeit f()" }],
    ["time", { jupyter: { state: "timeout", outputs: [] } as CellRecord }],
    ["time", { afterTimeout: true }],
    ["alike", { afterTimeout: true, differences: [] }],
    ["network", { jupyter: failed("URLError") }],
    ["different", { jupyter: failed("KeyError") }],
    ["accepted", { isAccepted: true }],
    ["uncompared", { jupyter: { state: "lost", outputs: [] } as CellRecord }],
  ] as const)("is %s for %o", (verdict, more) => {
    expect(judge(evidence(more))).toBe(verdict);
  });

  it.each([
    ["no JSON", "vm"],
    ["another list", '[{ "notebook": "a.py" }]'],
  ])("names a file that is no list of accepted differences: %s", (_, text) => {
    const file = join(folder, "wrong.json");
    writeFileSync(file, text);
    expect(() => AcceptedDifferences.read(file)).toThrow(`${file} is no list of accepted`);
  });

  it("takes only those differences for accepted that the list names, and tells idle entries", () => {
    const accepted = new AcceptedDifferences(ACCEPTED);
    const source = {
      file: "",
      name: "corpus/a.py",
      group: "corpus",
      cells: ["1", "2", "input()", "4"],
    };
    const sides = {
      cellar: side(said("a"), said("a"), failed("E"), said("b")),
      first: side(said("b"), said("b"), said("b"), said("b")),
      second: undefined,
      workspace: undefined,
    };
    const judged = judgeCells(source, sides, { accepted, pixels: true });
    expect(judged.map(({ verdict }) => verdict)).toEqual([
      "accepted",
      "different",
      "different",
      "alike",
    ]);
    expect(judged[0]?.reason).toBe("on purpose, as told");
    expect(accepted.idle.map(({ cell }) => cell)).toEqual([3]);
    const other = { ...source, name: "corpus/aa.py" };
    const elsewhere = judgeCells(other, sides, { accepted, pixels: true });
    expect(elsewhere[0]?.verdict).toBe("different");
  });

  it("refuses an accepted difference without a reason", () => {
    const file = put("accepted.json", '[{"notebook":"a","cell":1,"classes":["text"],"reason":""}]');
    expect(() => AcceptedDifferences.read(file)).toThrow(/reason/);
  });
});

describe("an interpreter without a kernel", () => {
  it("is told with the next step", async () => {
    const python = put("python", "#!/bin/sh\necho \"No module named 'nbclient'\" >&2\nexit 1\n");
    chmodSync(python, 0o755);
    await expect(findKernel(python)).rejects.toThrow(
      `No module named 'nbclient'. Next step: ${python} -m pip install ipykernel nbclient`,
    );
    await expect(findKernel(join(folder, "nowhere"))).rejects.toThrow(/ENOENT.*Next step/);
  });
});

describe("the report", () => {
  const notebook: JudgedNotebook = {
    name: "n/a.py",
    group: "n",
    seconds: { cellar: 1, jupyter: 1 },
    notes: [],
    cells: [
      { number: 0, code: "a", verdict: "alike", differences: [] },
      { number: 1, code: "b", verdict: "different", differences: [difference("stdout")] },
      { number: 2, code: "c", verdict: "chance", differences: [difference("stdout")] },
    ],
  };

  it("counts what depends on chance apart, and tells the first difference with both texts", () => {
    const totals = totalsOf([notebook]);
    expect(totals.percentAlike).toBe(50);
    expect(totals.classes.stdout).toBe(1);
    const report = reportOf([notebook], []);
    expect(report).toContain("first different: cell 1 (stdout)");
    expect(report).toMatch(/stdout, cellar:\n {6}a\n.*stdout, jupyter:\n {6}b/);
    expect(report).toContain("1 of 2 cells alike or accepted (50 %), 1 different, 1 apart");
  });

  it("never rounds up to all", () => {
    const cells = Array.from({ length: 20_000 }, (_, number) => ({
      ...{ number, code: "", differences: [] },
      verdict: number === 0 ? ("different" as const) : ("alike" as const),
    }));
    expect(totalsOf([{ ...notebook, cells }]).percentAlike).toBe(99.99);
  });
});

describe("the cells of a script", () => {
  it("begin at its marks, without the text of a gallery", () => {
    const script = [
      '"""',
      "Title",
      "=====",
      '"""',
      "import a",
      "# %%",
      "# Some text",
      "# of two lines",
      "",
      "b()",
      "# %% [markdown]",
      "# more text",
      "not = code",
      "#".repeat(79),
      "# only text",
      "#%% titled",
      "c()",
      "# In[7]:",
      "d()",
    ].join("\n");
    expect(cellsOfScript(script)).toEqual([
      "import a",
      "# Some text\n# of two lines\n\nb()",
      "c()",
      "d()",
    ]);
    expect(hasMarks(script)).toBe(true);
  });

  it("are one without marks", () => {
    expect(cellsOfScript("a = 1\n\nprint(a)\n")).toEqual(["a = 1\n\nprint(a)"]);
    expect(hasMarks("a = 1  # %% not a mark")).toBe(false);
  });
});

describe("the notebooks of a folder", () => {
  it("are its documents and scripts, but no modules, packages or damaged files", () => {
    const code = (source: string | string[]) => ({ cell_type: "code", source });
    const text = { cell_type: "markdown", source: "# t" };
    put("set/b.ipynb", JSON.stringify({ cells: [text, code(["import tool\n", "1"]), code("")] }));
    put(
      "set/old.ipynb",
      JSON.stringify({ worksheets: [{ cells: [{ cell_type: "code", input: "2" }] }] }),
    );
    put("set/bad.ipynb", "{");
    put("set/tool.py", "x = 1\n");
    put("set/alone.py", "print(1)\n");
    put("set/pkg/__init__.py", "");
    put("set/pkg/part.py", "y = 1\n");
    put("set/.hidden/c.py", "print(2)\n");
    put("set/inner/d.py", "# %%\n3\n# %%\n4\n");
    const { sources, unusable } = findSources([join(folder, "set"), join(folder, "nowhere")]);
    expect(sources.map(({ name, group, cells }) => [name, group, cells])).toEqual([
      ["set/alone.py", "set", ["print(1)"]],
      ["set/b.ipynb", "set", ["import tool\n1"]],
      ["set/old.ipynb", "set", ["2"]],
      ["set/inner/d.py", "set/inner", ["3", "4"]],
    ]);
    expect(unusable).toHaveLength(2);
    const [one] = findSources([join(folder, "set", "tool.py")]).sources;
    expect(one?.cells).toEqual(["x = 1"]);
  });

  it("come with the files around them", () => {
    const around = surroundingsOf(put("beside/n.py", "1"));
    put("beside/data/a.csv", "1");
    expect(around.files).toEqual(["n.py"]);
    const now = surroundingsOf(join(folder, "beside", "n.py"));
    expect(now.files).toEqual(["data/a.csv", "n.py"]);
    expect(now.left).toBe(0);
    copySurroundings(now, join(folder, "copy"));
    expect(surroundingsOf(join(folder, "copy", "n.py")).files).toEqual(now.files);
  });
});
