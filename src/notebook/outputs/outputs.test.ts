import { afterAll, describe, expect, it } from "vitest";
import { PNG, Showing } from "../../../test/support/notebook/shown-outputs.js";
import type { CodeExecution, Output } from "../../backends/backend.js";
import { type CellOutput, TABLE_MIME } from "../cell.js";
import { imageSize } from "./image.js";
import { LONGEST_TEXT_BYTES } from "./outputs.js";
import { resourceOf, uriOf } from "./resources.js";

function execution(parts: Partial<CodeExecution>): CodeExecution {
  return {
    number: 1,
    code: "",
    status: "ok",
    stdout: "",
    stderr: "",
    error: null,
    result: null,
    outputs: [],
    omitted: { stdout: 0, stderr: 0 },
    exitCode: null,
    background: 0,
    duration: 1,
    isolation: { level: "L0", missing: [] },
    state: { survived: true, checkpoint: null },
    ...parts,
  };
}

function display(
  data: Record<string, string>,
  binary: Record<string, Uint8Array> = {},
): Output & { type: "display" } {
  return { type: "display", data, binary, metadata: {} };
}

const JPEG = Buffer.from("ffd8ffe00004abcdffc0001108000500070301220002110103", "hex");

const table = (parts: object = {}) =>
  JSON.stringify({
    columns: ["a"],
    dtypes: ["int64"],
    shape: [1, 1],
    rows: [[1]],
    truncated: false,
    ...parts,
  });

const showing = new Showing();

afterAll(() => showing[Symbol.dispose]());

function outputs(parts: Partial<CodeExecution>, number = 0) {
  return showing.outputs(execution(parts), number);
}

describe("the outputs of a cell", () => {
  it("keep their order, the value and the error last", async () => {
    const made = await outputs({
      outputs: [
        { type: "stdout", text: "a\n" },
        display({ "text/plain": "p", "text/html": "<p>" }),
        { type: "stderr", text: "b\n" },
      ],
      result: { "text/plain": "5" },
      error: { type: "E", message: "m", traceback: "t", hint: "h" },
    });
    expect(made.outputs).toEqual([
      { type: "TEXT", stream: "stdout", text: "a\n" },
      { type: "HTML", html: "<p>", text: "p", isResult: false },
      { type: "TEXT", stream: "stderr", text: "b\n" },
      { type: "TEXT", stream: "result", text: "5" },
      { type: "ERROR", name: "E", message: "m", traceback: "t", hint: "h" },
    ]);
    expect(made.resources).toEqual([]);
  });

  it("take the richest form", async () => {
    const forms: Record<string, string> = {
      "text/plain": "t",
      "application/json": '{"k":[1]}',
      "text/markdown": "# m",
      "text/latex": "$l$",
      "text/html": "<b>",
      "image/svg+xml": "<svg/>",
    };
    const kinds: string[] = [];
    const data: Record<string, string> = {};
    for (const [mime, content] of Object.entries(forms)) {
      data[mime] = content;
      kinds.push((await outputs({ outputs: [display({ ...data })] })).outputs[0]?.type ?? "");
    }
    expect(kinds).toEqual(["TEXT", "JSON", "MARKDOWN", "LATEX", "HTML", "SVG"]);
    const image = await outputs({ outputs: [display(data, { "image/png": PNG })] });
    expect(image.outputs[0]).toMatchObject({ type: "IMAGE", width: 3, height: 2, text: "t" });
    data[TABLE_MIME] = table();
    const frame = await outputs({ outputs: [display(data, { "image/png": PNG })] });
    expect(frame.outputs[0]).toMatchObject({ type: "DATAFRAME", rows: [[1]], html: "<b>" });
  });

  it("join the picture of a result with its other forms", async () => {
    const made = await outputs({
      outputs: [
        display({ "text/plain": "other" }, { "image/png": PNG }),
        { ...display({ "text/plain": "r" }, { "image/jpeg": JPEG }), isResult: true },
        { type: "stdout", text: "late" },
      ],
      result: { "text/plain": "r", "text/html": "<r>" },
    });
    expect(made.outputs.map(({ type }) => type)).toEqual(["IMAGE", "TEXT", "IMAGE"]);
    expect(made.outputs[2]).toEqual({
      type: "IMAGE",
      mime: "image/jpeg",
      uri: "notebook://cell/0/image/1",
      width: 7,
      height: 5,
      text: "r",
      isResult: true,
      also: { "text/html": "<r>" },
      metadata: {},
    });
  });

  it("have the figures of a cell's end after its value or its error", async () => {
    const figure = display({ "text/plain": "f" }, { "image/png": PNG });
    const late = { ...figure, afterResult: true } as const;
    const words = { type: "stderr", text: "warned", afterResult: true } as const;
    const value = { "text/plain": "v" };
    const made = await outputs({ outputs: [figure, words, late], result: value });
    expect(made.outputs).toMatchObject([
      { type: "IMAGE" },
      { stream: "result" },
      { stream: "stderr" },
      { type: "IMAGE" },
    ]);
    const error = { type: "E", message: "m", traceback: "t" };
    const failed = await outputs({ outputs: [late], error });
    expect(failed.outputs.map(({ type }) => type)).toEqual(["ERROR", "IMAGE"]);
    // What fails to be drawn is told before the value that is shown all the same.
    const shown = { ...display(value), isResult: true, afterResult: true } as const;
    const both = await outputs({ outputs: [shown], result: value, error });
    expect(both.outputs).toMatchObject([{ type: "ERROR" }, { stream: "result", text: "v" }]);
  });

  it("keep short representations beside the one that is shown", async () => {
    const forms = { "text/plain": "t", "text/html": "<b>", "text/latex": "l", "x/y+json": "{}" };
    const data = { ...forms, "a/b": "x".repeat(LONGEST_TEXT_BYTES + 1), constructor: "c" };
    const made = await outputs({ outputs: [display(data)] });
    expect(made.outputs).toEqual([
      {
        type: "HTML",
        html: "<b>",
        text: "t",
        isResult: false,
        also: { "text/latex": "l", "x/y+json": "{}" },
      },
    ]);
  });

  it("put bytes into the store and refer to them", async () => {
    const shown = display({ "text/plain": "p" }, { "image/png": PNG, "image/jpeg": JPEG });
    const made = await outputs({ outputs: [shown, shown] }, 7);
    expect(made.resources.map(({ uri, mime }) => [uri, mime])).toEqual([
      ["notebook://cell/7/image/0", "image/png"],
      ["notebook://cell/7/image/1", "image/png"],
    ]);
    for (const { blob } of made.resources) expect(await showing.read(blob)).toEqual(PNG);
  });

  it("keep long texts whole in the store and their start in the cell", async () => {
    const long = `${"é".repeat(LONGEST_TEXT_BYTES / 2)}!`;
    const json = JSON.stringify([long]);
    const made = await outputs({
      outputs: [
        { type: "stdout", text: long },
        display({ "text/plain": "h", "text/html": long }),
        display({ "text/plain": "j", "application/json": json }),
        display({ "text/plain": "d", "text/html": long, [TABLE_MIME]: table() }),
        display({ "text/plain": "s", "text/html": long.slice(0, -1) }),
      ],
    });
    const uri = (number: number) => `notebook://cell/0/text/${number}`;
    expect(made.outputs).toMatchObject([
      { type: "TEXT", uri: uri(0), length: long.length },
      { type: "HTML", uri: uri(1), length: long.length, text: "h" },
      { type: "JSON", uri: uri(2), length: json.length, json: null },
      { type: "DATAFRAME", uri: uri(3), length: long.length, rows: [[1]] },
      { type: "HTML", html: long.slice(0, -1) },
    ]);
    expect(made.outputs[4]).not.toHaveProperty("uri");
    expect(JSON.stringify(made.outputs.slice(0, 4)).length).toBeLessThan(LONGEST_TEXT_BYTES);
    expect((made.outputs[0] as { text: string }).text).toContain(`more characters in ${uri(0)}`);
    const whole = await Promise.all(made.resources.map(({ blob }) => showing.read(blob)));
    expect(whole.map(String)).toEqual([long, long, json, long]);
  });

  it("do not cut a character in two", async () => {
    const made = await outputs({ outputs: [display({ "text/html": `x${"😀".repeat(100_000)}` })] });
    const { html } = made.outputs[0] as Extract<CellOutput, { type: "HTML" }>;
    expect(html.isWellFormed()).toBe(true);
  });

  it("take no table and no JSON that is not one", async () => {
    const bad = [
      "{",
      "[]",
      table({ rows: [[1, 2]] }),
      table({ dtypes: [] }),
      table({ index: [] }),
      table({ shape: [-1, 1] }),
      table({ columns: "a" }),
      "[".repeat(100_000) + "]".repeat(100_000),
      `[${"{},".repeat(200_000)}{}]`,
    ];
    for (const text of bad) {
      const shown = display({ "text/plain": "t", [TABLE_MIME]: text });
      expect((await outputs({ outputs: [shown] })).outputs[0]).toMatchObject({
        type: "TEXT",
        text: "t",
      });
    }
    for (const text of ["{", "[".repeat(1_000) + "]".repeat(1_000)]) {
      const shown = display({ "text/plain": "t", "application/json": text });
      expect((await outputs({ outputs: [shown] })).outputs[0]?.type).toBe("TEXT");
    }
  });

  it("say what cannot be shown", async () => {
    const made = await outputs({
      outputs: [
        display({ "text/plain": "p" }, { "image/png": Buffer.from("<html>") }),
        display({ "application/javascript": "1" }),
        display({}),
      ],
    });
    expect(made.outputs.map((each) => (each.type === "TEXT" ? each.text : each.type))).toEqual([
      "p\n[not shown here: image/png]",
      "[not shown here: application/javascript]",
      "",
    ]);
  });
});

describe("the size of an image", () => {
  it("is read from its header, or not at all", () => {
    expect(imageSize("image/png", PNG)).toEqual({ width: 3, height: 2 });
    expect(imageSize("image/jpeg", JPEG)).toEqual({ width: 7, height: 5 });
    for (const whole of [PNG.subarray(0, 24), JPEG.subarray(0, 17)]) {
      for (let length = 0; length < whole.length; length++) {
        expect(imageSize("image/png", whole.subarray(0, length))).toBeUndefined();
        expect(imageSize("image/jpeg", whole.subarray(0, length))).toBeUndefined();
      }
    }
    const endless = Buffer.alloc(1_000_000, 0xff);
    expect(imageSize("image/jpeg", endless)).toBeUndefined();
    expect(imageSize("image/jpeg", Buffer.from("ffd8ffe0000000000000000000", "hex"))).toBe(
      undefined,
    );
  });
});

describe("the address of a resource", () => {
  it("is read as it is written", () => {
    const address = { cell: 12, kind: "text", number: 0 } as const;
    expect(resourceOf(uriOf(address))).toEqual(address);
  });

  it.each([
    "",
    "notebook://cell/0/image",
    "notebook://cell/00/image/0",
    "notebook://cell/0/image/-1",
    "notebook://cell/0/image/0/",
    "notebook://cell/0/image/0\n",
    "notebook://cell/0/file/0",
    "notebook://cell/99999999/image/0",
    "NOTEBOOK://cell/0/image/0",
    "notebook://cell/0/image/٠",
    "file:///etc/passwd",
  ])("refuses %j", (uri) => {
    expect(() => resourceOf(uri)).toThrowError(/is not the address of a resource/);
  });
});
