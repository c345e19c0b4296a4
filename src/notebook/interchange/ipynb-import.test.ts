import { describe, expect, it } from "vitest";
import {
  everyKind,
  MemoryBlobs,
  PNG,
  refOf,
} from "../../../test/support/notebook/notebook-content.js";
import { cellSchema } from "../cell.js";
import { htmlOf } from "./html-export.js";
import { ipynbOf } from "./ipynb.js";
import { IMPORTED_NOTE, importIpynb } from "./ipynb-import.js";

const NOW = new Date("2026-02-03T04:05:06Z");

const code = (source: unknown, more: object = {}) => ({
  cell_type: "code",
  metadata: {},
  source,
  outputs: [],
  execution_count: null,
  ...more,
});

const fileOf = (cells: unknown, more: object = {}) =>
  Buffer.from(JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells, ...more }));

async function imported(file: Uint8Array, blobs = new MemoryBlobs()) {
  const { cells, notes } = await importIpynb(file, { blobs, maxCells: 100, now: NOW });
  for (const cell of cells) cellSchema.parse(cell);
  return { cells, notes };
}

const outputsOf = async (...outputs: unknown[]) => {
  const { cells, notes } = await imported(fileOf([code("x", { outputs })]));
  return { outputs: cells[0]?.outputs, notes, cell: cells[0] };
};

describe("importing an .ipynb", () => {
  it("gives back what was exported, but for what ran", async () => {
    const content = everyKind();
    const blobs = new MemoryBlobs();
    const { cells, notes } = await imported(Buffer.from(await ipynbOf(content)), blobs);
    expect(notes).toEqual([]);
    expect(cells.map((cell) => [cell.number, cell.code, cell.state])).toEqual(
      content.cells.map((cell) => [cell.number, cell.code, cell.state]),
    );
    expect(cells.slice(0, 2).map(({ outputs }) => outputs)).toEqual(
      content.cells.slice(0, 2).map(({ outputs }) => outputs),
    );
    expect(cells[4]?.outputs).toEqual(content.cells[4]?.outputs);
    expect(cells[2]?.resources).toEqual(content.cells[2]?.resources);
    expect(blobs.kept.get(refOf(PNG).sha256)).toEqual(PNG);
    for (const cell of cells) {
      expect(cell.executionCount).toBe(cell.number);
      expect([cell.executedAt, cell.createdAt]).toEqual([null, NOW.toISOString()]);
      expect(cell.notes).toEqual(cell.state === "IDLE" ? undefined : [IMPORTED_NOTE]);
    }
    expect(new Set(cells.map(({ id }) => id)).size).toBe(cells.length);
  });

  it("tells the state by the outputs", async () => {
    const error = {
      output_type: "error",
      ename: "E",
      evalue: "v",
      traceback: ["\u001b[31mE\u001b[0m"],
    };
    const { cells } = await imported(
      fileOf([
        code(["a = 1\r\n", "b"]),
        code("c", { execution_count: 4 }),
        code("d", { outputs: [error] }),
        code("e", { execution_count: 5, metadata: { cellar: { state: "TIMEOUT" } } }),
        code("f", { execution_count: 6, metadata: { cellar: { state: "RUNNING" } } }),
      ]),
    );
    expect(cells.map((cell) => cell.state)).toEqual([
      "IDLE",
      "COMPLETED",
      "ERROR",
      "TIMEOUT",
      "COMPLETED",
    ]);
    expect(cells[0]?.code).toBe("a = 1\nb");
    expect(cells[2]?.outputs).toEqual([{ type: "ERROR", name: "E", message: "v", traceback: "E" }]);
  });

  it("keeps text and its pictures, and export gives both back", async () => {
    const attachments = { "dot.png": { "image/png": PNG.toString("base64") } };
    const source = "# Title\n![dot](attachment:dot.png)";
    const blobs = new MemoryBlobs();
    const { cells } = await imported(
      fileOf([
        { cell_type: "markdown", metadata: {}, source, attachments },
        { cell_type: "raw", metadata: {}, source: ["as ", "is"] },
      ]),
      blobs,
    );
    expect(cells.map((cell) => [cell.state, cell.code])).toEqual([
      ["IDLE", "# %% [markdown]\n# # Title\n# ![dot](attachment:dot.png)"],
      ["IDLE", "# %% [raw]\n# as is"],
    ]);
    const resource = async () => ({ bytes: blobs.kept.get(refOf(PNG).sha256) as Uint8Array });
    const again = JSON.parse(await ipynbOf({ cells, resource }));
    expect(again.cells[0]).toMatchObject({ cell_type: "markdown", attachments });
    expect(again.cells[0].source.join("")).toBe(source);
    expect(again.cells[1]).toMatchObject({ cell_type: "raw", source: ["as is"] });
  });

  it("chooses the richest representation and keeps the text", async () => {
    const data = {
      "text/html": ["<b>", "x</b>"],
      "text/plain": "x",
      "application/json": {},
      "image/png": `${PNG.toString("base64").replace(/(.{20})/g, "$1\n")}\n`,
    };
    const { outputs } = await outputsOf(
      { output_type: "execute_result", execution_count: 1, data, metadata: {} },
      { output_type: "display_data", data: { "text/html": data["text/html"] }, metadata: {} },
      { output_type: "display_data", data: { "text/plain": ["a\n", "b"] }, metadata: {} },
    );
    expect(outputs).toMatchObject([
      { type: "IMAGE", mime: "image/png", uri: "notebook://cell/0/image/0", text: "x" },
      { type: "HTML", html: "<b>x</b>", isResult: false },
      { type: "TEXT", stream: "display", text: "a\nb" },
    ]);
  });

  it("says what it left out", async () => {
    const shown = (data: object) => ({ output_type: "display_data", data, metadata: {} });
    const { outputs, notes } = await outputsOf(
      shown({ "image/png": "not base64!", "text/plain": "a figure" }),
      shown({ "image/png": "AAA" }),
      shown({ "application/x+json": { data: [] } }),
    );
    const words = [
      "a figure",
      "[not shown here: image/png]",
      "[not shown here: application/x+json]",
    ];
    expect(outputs).toEqual(words.map((text) => ({ type: "TEXT", stream: "display", text })));
    expect(notes).toEqual([
      "the cell at place 1 of the file: left out an image (image/png): it is not base64",
      "the cell at place 1 of the file: left out an image (image/png): it is not base64",
    ]);
    const many = Array.from({ length: 1001 }, () => shown({ "text/plain": "." }));
    const flood = await outputsOf(...many);
    expect(flood.outputs).toHaveLength(1000);
    expect(flood.cell?.notes).toEqual([IMPORTED_NOTE, "left out 1 outputs: a cell takes 1000"]);
    expect(flood.notes).toEqual([
      "the cell at place 1 of the file: left out 1 outputs: a cell takes 1000",
    ]);
    const foreign = await imported(fileOf([], { metadata: { language_info: { name: "R" } } }));
    expect(foreign.notes).toEqual(['the file says that its language is "R"']);
  });

  it("puts long texts into the store, and export takes the whole of them", async () => {
    const long = "line\n".repeat(100_000);
    const json = { list: Array.from({ length: 50_000 }, (_, at) => at) };
    const data = { "text/html": long, "text/plain": "short" };
    const outputs = [
      { output_type: "stream", name: "stdout", text: long },
      { output_type: "display_data", metadata: {}, data },
      { output_type: "display_data", metadata: {}, data: { "application/json": json } },
    ];
    const blobs = new MemoryBlobs();
    const { cells } = await imported(fileOf([code("x", { outputs })]), blobs);
    expect(JSON.stringify(cells).length).toBeLessThan(60_000);
    const places = new Map(cells[0]?.resources.map(({ uri, blob }) => [uri, blob.sha256]));
    const resource = async (uri: string) => ({ bytes: blobs.bytes(places.get(uri) ?? "") });
    const [again] = JSON.parse(await ipynbOf({ cells, resource })).cells;
    expect(again.outputs[0].text.join("")).toBe(long);
    expect(again.outputs[1].data["text/html"].join("")).toBe(long);
    expect(again.outputs[2].data["application/json"]).toEqual(json);
    expect(await htmlOf({ cells, resource })).toContain(long.trimEnd());
  });

  it("refuses files that are no notebook, each with its reason", async () => {
    const cases: [Uint8Array, RegExp][] = [
      [Buffer.from("not json"), /not JSON/],
      [Buffer.from([0x22, 0xff, 0x22]), /not JSON in UTF-8/],
      [Buffer.from("{}"), /not a Jupyter notebook/],
      [Buffer.from('{"nbformat": 3, "worksheets": []}'), /nbformat 3/],
      [Buffer.from('{"nbformat": 5, "cells": []}'), /nbformat 5/],
      [fileOf("cells"), /cells/],
      [fileOf([{ cell_type: "code" }]), /cells\.0\.source/],
      [fileOf([{ cell_type: "heading", source: "x" }]), /cells\.0\.cell_type/],
      [fileOf([code("x", { outputs: [{ output_type: "pyout" }] })]), /outputs\.0/],
      [Buffer.from(`${"[".repeat(300)}${"]".repeat(300)}`), /nested/],
      [Buffer.from(`[${"0,".repeat(1_000_001)}0]`), /more than \d+ values/],
    ];
    for (const [file, reason] of cases) {
      await expect(imported(file)).rejects.toMatchObject({
        code: "INVALID_INPUT",
        message: expect.stringMatching(reason),
      });
    }
    await expect(imported(fileOf([code("#".repeat(9 * 1024 * 1024))]))).rejects.toMatchObject({
      code: "TOO_LARGE",
    });
    const crowd = fileOf(Array.from({ length: 101 }, () => code("x")));
    await expect(imported(crowd)).rejects.toMatchObject({ code: "LIMIT_REACHED" });
  });

  it("is not fooled by names that objects have of themselves", async () => {
    const cell = `{"cell_type": "code", "source": "x", "execution_count": 1,
      "metadata": {"__proto__": {"cellar": {"state": "CRASHED"}}},
      "outputs": [{"output_type": "display_data", "metadata": {},
        "data": {"__proto__": {"text/html": "<b>"}, "constructor": "y", "text/plain": "safe"}}]}`;
    const file = Buffer.from(`{"nbformat": 4, "__proto__": {"polluted": 1}, "cells": [${cell}]}`);
    const { cells } = await imported(file);
    expect(cells[0]?.state).toBe("COMPLETED");
    expect(cells[0]?.outputs).toEqual([{ type: "TEXT", stream: "display", text: "safe" }]);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });
});
