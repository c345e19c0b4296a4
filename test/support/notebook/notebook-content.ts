import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { Cell, CellOutput } from "../../../src/notebook/cell.js";
import type { NotebookContent } from "../../../src/notebook/interchange/notebook-content.js";
import type { BlobRef, BlobStore } from "../../../src/notebook/store/store.js";

/** One red point. */
export const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==",
  "base64",
);

export function cellWith(index: number, code: string, outputs: readonly CellOutput[] = []): Cell {
  return {
    id: `cell-${index}`,
    index,
    number: index + 1,
    code,
    state: "COMPLETED",
    outputs: [...outputs],
    executionCount: index + 1,
    createdAt: "2026-01-02T03:04:05.000Z",
    executedAt: "2026-01-02T03:04:06.000Z",
    duration: 12.5,
    resources: [],
  };
}

/** A cell for each thing that a cell can show. */
export function everyKind(): NotebookContent {
  const image: CellOutput = {
    type: "IMAGE",
    mime: "image/png",
    uri: "notebook://cell/2/image/0",
    width: 1,
    height: 1,
    text: "<Figure size 1x1>",
    isResult: false,
    metadata: { alt: "a point" },
  };
  const failed: CellOutput = {
    type: "ERROR",
    name: "ZeroDivisionError",
    message: "division by zero",
    traceback:
      "Traceback (most recent call last):\n  <cell 4>\nZeroDivisionError: division by zero\n",
    hint: "check the divisor",
  };
  const frame: CellOutput = {
    type: "DATAFRAME",
    columns: ["a", "b"],
    dtypes: ["int64", "object"],
    shape: [2, 2],
    rows: [
      [1, "x"],
      [2, null],
    ],
    index: [0, 1],
    truncated: false,
    html: "<table><tr><td>1</td></tr></table>",
    text: "   a     b\n0  1     x\n1  2  None",
    isResult: true,
  };
  const cells: Cell[] = [
    cellWith(0, "print('one')\nprint('two')\n3", [
      { type: "TEXT", stream: "stdout", text: "one\ntwo\n" },
      { type: "TEXT", stream: "stderr", text: "careful" },
      { type: "TEXT", stream: "result", text: "3" },
    ]),
    cellWith(1, "frame", [frame]),
    {
      ...cellWith(2, "plot()", [image, { type: "TEXT", stream: "display", text: "shown" }]),
      resources: [{ uri: "notebook://cell/2/image/0", mime: "image/png", blob: { ...refOf(PNG) } }],
    },
    { ...cellWith(3, "1/0", [failed]), state: "ERROR", isUndone: true, notes: ["a note"] },
    cellWith(4, "rich()", [
      { type: "HTML", html: "<b>bold</b>", text: "bold", isResult: true },
      { type: "JSON", json: { a: [1, null] }, text: "{'a': [1, None]}", isResult: false },
      { type: "MARKDOWN", markdown: "# head\n\ntext", text: "head", isResult: false },
      { type: "LATEX", latex: "$x^2$", text: "x**2", isResult: false },
      { type: "SVG", svg: "<svg xmlns='http://www.w3.org/2000/svg'/>", text: "", isResult: false },
    ]),
    {
      ...cellWith(5, "later"),
      state: "IDLE",
      number: null,
      executionCount: null,
      executedAt: null,
      duration: null,
    },
  ];
  return {
    cells,
    resource: async (uri) => {
      if (uri !== "notebook://cell/2/image/0") throw new Error(`nothing at ${uri}`);
      return { bytes: PNG };
    },
    python: "3.11.7",
    title: "A <b>title</b>",
  };
}

export function refOf(bytes: Uint8Array): BlobRef {
  return { sha256: createHash("sha256").update(bytes).digest("hex"), bytes: bytes.byteLength };
}

/** Content that lives as long as the test. */
export class MemoryBlobs implements BlobStore {
  readonly kept = new Map<string, Uint8Array>();

  async put(source: AsyncIterable<Uint8Array> | Uint8Array): Promise<BlobRef> {
    if (!(source instanceof Uint8Array)) throw new Error("a stream was not expected");
    const ref = refOf(source);
    this.kept.set(ref.sha256, source);
    return ref;
  }

  get({ sha256 }: BlobRef): Readable {
    return Readable.from([this.bytes(sha256)]);
  }

  bytes(sha256: string): Uint8Array {
    const found = this.kept.get(sha256);
    if (found === undefined) throw new Error(`nothing is kept as ${sha256}`);
    return found;
  }

  async has({ sha256 }: BlobRef): Promise<boolean> {
    return this.kept.has(sha256);
  }

  async delete({ sha256 }: BlobRef): Promise<void> {
    this.kept.delete(sha256);
  }

  async *list(): AsyncIterable<BlobRef> {
    for (const bytes of this.kept.values()) yield refOf(bytes);
  }

  async generations(): Promise<readonly string[]> {
    return [""];
  }
}
