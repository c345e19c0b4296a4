import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { compareCells, type DifferenceClass } from "./tool/comparison.js";
import { normalise } from "./tool/normalise.js";
import { readPng } from "./tool/png.js";
import type { CellRecord, NotebookOutput } from "./tool/record.js";

const stream = (name: string, text: string): NotebookOutput => ({
  output_type: "stream",
  name,
  text,
});
const result = (data: Record<string, unknown>): NotebookOutput => ({
  output_type: "execute_result",
  data,
});
const display = (data: Record<string, unknown>): NotebookOutput => ({
  output_type: "display_data",
  data,
});
const error = (ename: string, evalue: string): NotebookOutput => ({
  output_type: "error",
  ename,
  evalue,
});
const cell = (...outputs: NotebookOutput[]): CellRecord => ({
  state: outputs.some(({ output_type: type }) => type === "error") ? "error" : "ok",
  outputs,
});

/** A grey picture; `filter` says how its rows are written. */
function png(width: number, height: number, grey: number, filter = 0): string {
  const chunk = (kind: string, data: Buffer) => {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(data.length);
    return Buffer.concat([head, Buffer.from(kind, "latin1"), data, Buffer.alloc(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 0, 0, 0, 0], 8);
  const row = (y: number) =>
    Array.from({ length: width }, (_, x) => {
      if (filter === 1) return x === 0 ? grey : 0;
      if (filter === 2) return y === 0 ? grey : 0;
      return grey;
    });
  const rows = Array.from({ length: height }, (_, y) => Buffer.from([filter, ...row(y)]));
  const bytes = Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(Buffer.concat(rows))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
  return bytes.toString("base64");
}

const text = (content: string) => ({ "text/plain": content });
const image = (data: string) => ({ "image/png": data, "text/plain": "<Figure>" });

describe("a comparison of two runs of a cell", () => {
  const same: [string, CellRecord, CellRecord][] = [
    ["nothing", cell(), cell()],
    [
      "streams in pieces, and mixed otherwise",
      cell(stream("stdout", "a\n"), stream("stderr", "w\n"), stream("stdout", "b\n")),
      cell(stream("stdout", "a\nb\n"), stream("stderr", "w\n")),
    ],
    [
      "an address",
      cell(result(text("<A object at 0x7f12ab34cd56>"))),
      cell(result(text("<A object at 0x55d0c0ffee00>"))),
    ],
    [
      "the file of a cell in a warning",
      cell(stream("stderr", "<cell 3>:1: UserWarning: careful\n")),
      cell(stream("stderr", "/tmp/ipykernel_12/3456789.py:1: UserWarning: careful\n")),
    ],
    [
      "the file of a cell in an error",
      cell(error("SyntaxError", "invalid syntax (<cell 3>, line 1)")),
      cell(error("SyntaxError", "invalid syntax (1234567.py, line 1)")),
    ],
    [
      "colours and the line ends of a terminal",
      cell(stream("stdout", "red\n")),
      cell(stream("stdout", "\u001b[31mred\u001b[0m\r\n")),
    ],
    [
      "lines that are a list",
      cell(result(text("a\nb"))),
      cell(result({ "text/plain": ["a\n", "b"] })),
    ],
    [
      "Cellar's own facts about a table",
      cell(result({ ...text("t"), "application/vnd.cellar.table+json": { rows: [] } })),
      cell(result(text("t"))),
    ],
    [
      "the same pixels written otherwise",
      cell(display(image(png(3, 2, 7, 1)))),
      cell(display(image(png(3, 2, 7, 2)))),
    ],
    [
      "the order of keys in JSON",
      cell(display({ "application/json": { a: 1, b: [{ c: 1, d: 2 }] } })),
      cell(display({ "application/json": { b: [{ d: 2, c: 1 }], a: 1 } })),
    ],
  ];

  it.each(same)("finds %s alike", (_, one, other) => {
    expect(compareCells(one, other)).toEqual([]);
  });

  const different: [DifferenceClass, string, CellRecord, CellRecord][] = [
    ["state", "a time limit", { state: "timeout", outputs: [] }, cell()],
    [
      "error class",
      "another exception",
      cell(error("KeyError", "x")),
      cell(error("NameError", "x")),
    ],
    ["error text", "other words", cell(error("KeyError", "'a'")), cell(error("KeyError", "'b'"))],
    ["error text", "a class as text", cell(error("E", "E")), cell(error("E", ""))],
    ["stdout", "another print", cell(stream("stdout", "1\n")), cell(stream("stdout", "2\n"))],
    ["stdout", "a missing newline", cell(stream("stdout", "1")), cell(stream("stdout", "1\n"))],
    ["stderr", "a lost warning", cell(), cell(stream("stderr", "careful\n"))],
    ["stdout", "a stream as another", cell(stream("stderr", "a")), cell(stream("stdout", "a"))],
    ["text", "a repr in one line", cell(result(text("[1, 2]"))), cell(result(text("[1,\n 2]")))],
    [
      "html",
      "another table",
      cell(result({ ...text("t"), "text/html": "<table>" })),
      cell(result({ ...text("t"), "text/html": "<table border>" })),
    ],
    [
      "rich",
      "other LaTeX",
      cell(result({ ...text("t"), "text/latex": "$a$" })),
      cell(result({ ...text("t"), "text/latex": "$b$" })),
    ],
    [
      "mime",
      "a picture instead of markup",
      cell(result({ ...text("t"), "image/svg+xml": "<svg/>" })),
      cell(result({ ...text("t"), "text/html": "<svg/>" })),
    ],
    ["images", "a picture too many", cell(display(image(png(2, 2, 0)))), cell()],
    [
      "pixels",
      "another colour",
      cell(display(image(png(2, 2, 0)))),
      cell(display(image(png(2, 2, 9)))),
    ],
    [
      "pixels",
      "another size",
      cell(display(image(png(2, 2, 0)))),
      cell(display(image(png(4, 4, 0)))),
    ],
    ["outputs", "a display instead of a result", cell(display(text("1"))), cell(result(text("1")))],
    [
      "order",
      "the figure before the value",
      cell(display(image(png(2, 2, 0))), result(text("Text(0.5)"))),
      cell(result(text("Text(0.5)")), display(image(png(2, 2, 0)))),
    ],
    [
      "order",
      "the figure before the error",
      cell(display(image(png(2, 2, 0))), error("E", "x")),
      cell(error("E", "x"), display(image(png(2, 2, 0)))),
    ],
    [
      "order",
      "two displays the other way round",
      cell(display(text("a")), display(text("b"))),
      cell(display(text("b")), display(text("a"))),
    ],
    [
      "order",
      "a print after the display it came before",
      cell(display(text("a")), stream("stdout", "p")),
      cell(stream("stdout", "p"), display(text("a"))),
    ],
  ];

  it.each(different)("sees %s: %s", (what, _, one, other) => {
    const found = compareCells(one, other).map((difference) => difference.what);
    expect(found).toContain(what);
    if (what === "order") expect(found).toEqual(["order"]);
    expect(compareCells(other, one).map((difference) => difference.what)).toContain(what);
  });

  it("leaves pixels out where only the number of images counts", () => {
    const [one, other] = [png(2, 2, 0), png(2, 2, 9)].map((data) => cell(display(image(data))));
    if (one === undefined || other === undefined) throw new Error("no cells");
    expect(compareCells(one, other, { pixels: false })).toEqual([]);
  });

  it("takes an error that is only shown for a failure", () => {
    const shown: CellRecord = { state: "ok", outputs: [error("E", "x")] };
    expect(compareCells(shown, cell(error("E", "x")))).toEqual([]);
  });
});

describe("what is normalised", () => {
  it("is no more than what differs between any two runs", () => {
    const kept = ["0x1f", "file.py:3", "<cell>", "/tmp/data.csv", "3.14 s", "a\rb", "id 140234"];
    for (const one of kept) expect(normalise(one)).toBe(one);
    expect(normalise("/tmp/tmpab12cd34/x")).toBe("/tmp/tmpNAME/x");
    expect(normalise("in /home/me/work/a.py", "/home/me/work")).toBe("in /workspace/a.py");
  });
});

describe("a PNG", () => {
  it("is read with any filter of its rows", () => {
    const [plain, left, up] = [0, 1, 2].map(
      (filter) => readPng(Buffer.from(png(5, 4, 3, filter), "base64"))?.pixels,
    );
    expect(plain).toBeDefined();
    expect(left).toEqual(plain);
    expect(up).toEqual(plain);
    expect(readPng(Buffer.from("no picture"))).toBeUndefined();
  });
});
