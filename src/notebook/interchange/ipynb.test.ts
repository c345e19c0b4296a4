import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { cellWith, everyKind, PNG } from "../../../test/support/notebook/notebook-content.js";
import { ipynbOf } from "./ipynb.js";
import { proseCode, proseOf } from "./prose.js";

const PYTHON = fileURLToPath(new URL("../../../.venv/bin/python", import.meta.url));

/** The rules of nbformat 4.5 for what an export has in it. */
const lines = z.union([z.string(), z.array(z.string())]);
const anyObject = z.record(z.string(), z.unknown());
const count = z.int().nonnegative().nullable();
const bundle = anyObject.refine((data) =>
  Object.entries(data).every(
    ([mime, value]) => /^application\/(.*\+)?json$/.test(mime) || lines.safeParse(value).success,
  ),
);
const output = z.discriminatedUnion("output_type", [
  z.strictObject({ output_type: z.literal("stream"), name: z.string(), text: lines }),
  z.strictObject({ output_type: z.literal("display_data"), data: bundle, metadata: anyObject }),
  z.strictObject({
    output_type: z.literal("execute_result"),
    execution_count: count,
    data: bundle,
    metadata: anyObject,
  }),
  z.strictObject({
    output_type: z.literal("error"),
    ename: z.string(),
    evalue: z.string(),
    traceback: z.array(z.string()),
  }),
]);
const id = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const rules = z.strictObject({
  nbformat: z.literal(4),
  nbformat_minor: z.literal(5),
  metadata: z.looseObject({
    kernelspec: z.looseObject({ name: z.string(), display_name: z.string() }),
    language_info: z.looseObject({ name: z.string() }),
  }),
  cells: z.array(
    z.discriminatedUnion("cell_type", [
      z.strictObject({
        id,
        cell_type: z.literal("code"),
        metadata: anyObject,
        source: lines,
        outputs: z.array(output),
        execution_count: count,
      }),
      z.strictObject({
        id,
        cell_type: z.enum(["markdown", "raw"]),
        metadata: anyObject,
        source: lines,
        attachments: z.record(z.string(), bundle).optional(),
      }),
    ]),
  ),
});

const exported = async () => rules.parse(JSON.parse(await ipynbOf(everyKind())));
const codeCells = async () => (await exported()).cells.filter((cell) => cell.cell_type === "code");

describe("the .ipynb of a notebook", () => {
  it("keeps to the rules of the format", async () => {
    const { cells, metadata } = await exported();
    expect(cells).toHaveLength(6);
    expect(metadata.language_info).toMatchObject({ name: "python", version: "3.11.7" });
  });

  it("is accepted by nbformat", async (context) => {
    const run = promisify(execFile);
    const absence = await run(PYTHON, ["-I", "-c", "import nbformat"]).then(
      () => undefined,
      () => "nbformat is not in .venv; the rules that are written down here were checked",
    );
    if (absence !== undefined) context.skip(absence);
    const folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
    try {
      const path = join(folder, "document.ipynb");
      const content = everyKind();
      const prose = { ...cellWith(6, proseCode({ kind: "markdown", text: "# Hi" })) };
      writeFileSync(path, await ipynbOf({ ...content, cells: [...content.cells, prose] }));
      const script = [
        "import sys, nbformat",
        "document = nbformat.read(sys.argv[1], as_version=4)",
        "nbformat.validate(document, relax_add_props=False)",
        "print(document.nbformat_minor, len(document.cells), document.cells[-1].cell_type)",
      ].join("\n");
      const { stdout, stderr } = await run(PYTHON, ["-I", "-W", "error", "-c", script, path]);
      expect({ stdout, stderr }).toEqual({ stdout: "5 7 markdown\n", stderr: "" });
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    }
  });

  it("has streams, results with their count, and lines that keep their ends", async () => {
    const [first] = await codeCells();
    expect(first?.source).toEqual(["print('one')\n", "print('two')\n", "3"]);
    expect(first?.outputs).toEqual([
      { output_type: "stream", name: "stdout", text: ["one\n", "two\n"] },
      { output_type: "stream", name: "stderr", text: ["careful"] },
      {
        output_type: "execute_result",
        execution_count: 1,
        data: { "text/plain": ["3"] },
        metadata: {},
      },
    ]);
  });

  it("has images and every rich kind under its type, in order", async () => {
    const cells = await codeCells();
    const bundles = cells.map(({ outputs }) =>
      outputs.map((one) => ("data" in one ? Object.keys(one.data) : one.output_type)),
    );
    expect(bundles.slice(1, 5)).toEqual([
      [["text/html", "application/vnd.cellar.table+json", "text/plain"]],
      [["image/png", "text/plain"], ["text/plain"]],
      ["error"],
      [
        ["text/html", "text/plain"],
        ["application/json", "text/plain"],
        ["text/markdown", "text/plain"],
        ["text/latex", "text/plain"],
        ["image/svg+xml"],
      ],
    ]);
    expect(cells[2]?.outputs[0]).toMatchObject({
      data: { "image/png": PNG.toString("base64") },
      metadata: { "image/png": { width: 1, height: 1 }, alt: "a point" },
    });
  });

  it("tells exceptions with the hint, and how a cell ended", async () => {
    const failed = (await codeCells())[3];
    expect(failed?.outputs[0]).toMatchObject({
      ename: "ZeroDivisionError",
      evalue: "division by zero",
      traceback: [
        "Traceback (most recent call last):",
        "  <cell 4>",
        "ZeroDivisionError: division by zero",
        "hint: check the divisor",
      ],
    });
    expect(failed?.metadata).toMatchObject({
      cellar: { state: "ERROR", undone: true, duration: 12.5, notes: ["a note"] },
    });
  });

  it("gives a cell that has not run no count", async () => {
    const idle = (await codeCells())[5];
    expect(idle).toMatchObject({ execution_count: null, outputs: [] });
    expect(idle?.metadata.cellar).toEqual({
      state: "IDLE",
      createdAt: "2026-01-02T03:04:05.000Z",
    });
  });

  it("makes ids that the format allows, no two alike", async () => {
    const odd = ["", "a b/c", "a-b-c", "é".repeat(99), "é".repeat(99), "x".repeat(99)];
    const cells = odd.map((name, number) => ({ ...cellWith(number, ""), id: name }));
    const document = rules.parse(JSON.parse(await ipynbOf({ ...everyKind(), cells })));
    expect(new Set(document.cells.map((cell) => cell.id)).size).toBe(odd.length);
  });

  it("fails when an image cannot be read", async () => {
    const content = everyKind();
    const resource = async () => Promise.reject(new Error("damaged"));
    await expect(ipynbOf({ ...content, resource })).rejects.toThrow("damaged");
  });
});

describe("text among the cells", () => {
  it("becomes comments and comes back", () => {
    const proses = [
      { kind: "markdown", text: "# Title\n\n    indented\n# %% [markdown]" },
      { kind: "raw", text: "" },
    ] as const;
    for (const prose of proses) {
      const code = proseCode(prose);
      expect(code.split("\n").every((line) => line.startsWith("#"))).toBe(true);
      expect(proseOf(code)).toEqual(prose);
    }
  });

  it("is told from code", () => {
    for (const code of ["", "# a comment", "# %% [markdown]\nprint(1)", "x = 1\n# %% [raw]"]) {
      expect(proseOf(code)).toBeUndefined();
    }
  });
});
