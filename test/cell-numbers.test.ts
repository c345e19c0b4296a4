import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Cell } from "../src/notebook/cell.js";
import { Notebook } from "../src/notebook/notebook.js";
import { cellar } from "./support/command-line.js";
import { shown } from "./support/notebook/notebook-fixture.js";
import { call, ServiceFixture, textOf } from "./support/notebook/service-fixture.js";

const fixture = new ServiceFixture();
const USER = "ann";
const RAISING = "def fail():\n    raise ValueError('f')\nfail()";
const JUPYTER = JSON.stringify({
  nbformat: 4,
  nbformat_minor: 5,
  metadata: {},
  cells: [
    { cell_type: "markdown", id: "a", metadata: {}, source: "# Title" },
    {
      cell_type: "code",
      id: "b",
      metadata: {},
      source: "1 / 0",
      execution_count: 41,
      outputs: [{ output_type: "error", ename: "E", evalue: "", traceback: ["<cell 41>", "E"] }],
    },
    { cell_type: "code", id: "c", metadata: {}, source: "x", execution_count: null, outputs: [] },
  ],
});

type Numbers = readonly (number | null)[];
type Ids = readonly { readonly id: string; readonly number: number | null }[];

const open = async (session: string): Promise<Notebook> => {
  const { dir, runtime } = fixture;
  return await Notebook.open({ user: USER, session, dir, runtime, preload: "none" });
};

const command = (args: readonly string[]) =>
  cellar(["notebook", ...args, "--dir", fixture.dir, "--user", USER]);

/** Numbers in the headings of a text, in their order. */
const headings = (text: string, pattern: RegExp): Numbers =>
  [...text.matchAll(pattern)].map(([, number]) => (number === undefined ? null : Number(number)));

const HEADING = /^cell (?:\[ \]|(\d+)) · [A-Z]+/gm;

/** What a traceback calls the cell that it is of: its outermost frame. */
const inTraceback = ({ outputs }: Cell): number | undefined => {
  const error = outputs.findLast((output) => output.type === "ERROR");
  const found = error === undefined ? null : /<cell (\d+)>/.exec(error.traceback);
  return found === null ? undefined : Number(found[1]);
};

/** Every list of numbers that somebody is shown of this notebook, which is not open. */
async function numbersShown(session: string): Promise<Record<string, Numbers>> {
  const lists: Record<string, Numbers> = {};
  const text = (await command(["show", session])).stdout;
  const json: { cells: Cell[] } = JSON.parse((await command(["show", session, "--json"])).stdout);
  lists.commandText = headings(text, HEADING);
  lists.commandJson = json.cells.map(({ number }) => number);
  lists.jupyterName = json.cells.map(({ executionCount }) => executionCount);
  lists.tracebacks = json.cells.map((cell) => inTraceback(cell) ?? cell.number);

  await using service = await fixture.open();
  const overview = await call(service, "show_notebook", { session });
  const { cells } = overview.structured as { cells: Ids };
  lists.mcpText = headings(textOf(overview), HEADING);
  lists.mcpData = cells.map(({ number }) => number);
  const resource = await service.readResource(`notebook://session/${session}`);
  lists.mcpResource = headings(resource.text ?? "", HEADING);
  const single: (number | null)[] = [];
  const singleText: (number | null)[] = [];
  for (const { id, number } of cells) {
    const one = await call(service, "show_cell", { session, cell: number ?? id });
    const { cell } = one.structured as { cell: { id: string; number: number | null } };
    expect(cell.id).toBe(id);
    single.push(cell.number);
    singleText.push(...headings(textOf(one), HEADING));
  }
  Object.assign(lists, { single, singleText });

  await using notebook = await open(session);
  lists.library = notebook.cells.map(({ number }) => number);
  const ipynb = JSON.parse(await notebook.exportIpynb());
  lists.ipynb = ipynb.cells.map(
    (cell: { execution_count?: number }) => cell.execution_count ?? null,
  );
  // Texts have no heading there.
  const isCode = ipynb.cells.map(({ cell_type: kind }: { cell_type: string }) => kind === "code");
  const html = headings(await notebook.exportHtml(), /<h2>\[(?: |(\d+))\]/g);
  lists.html = mergeProse(isCode, html);
  return lists;
}

function mergeProse(isCode: readonly boolean[], html: Numbers): Numbers {
  let at = 0;
  return isCode.map((is) => (is ? (html[at++] ?? null) : null));
}

async function expectNumbers(session: string, numbers: Numbers): Promise<void> {
  const lists = await numbersShown(session);
  const all = Object.keys(lists).map((name) => [name, numbers]);
  expect(lists).toEqual(Object.fromEntries(all));
}

describe("the number of a cell", () => {
  it("is the same wherever it is shown, whatever happened before", async () => {
    {
      await using nb = await open("book");
      const first = await nb.run("x = 1");
      await nb.run("x = 2");
      await nb.undo();
      const failed = await nb.run("1 / 0");
      expect([failed.number, inTraceback(failed)]).toEqual([3, 3]);
      expect((await nb.run("import ctypes; ctypes.string_at(0)")).state).toBe("CRASHED");
      const raised = await nb.run(RAISING);
      expect([raised.number, inTraceback(raised)]).toEqual([5, 5]);
      const again = await nb.rerun(1);
      expect([again.id, again.number, again.index]).toEqual([first.id, 6, 0]);
      const stopped = nb.start("while True: pass");
      for await (const event of stopped.events) if (event.type === "state") stopped.cancel();
      expect((await stopped.done).number).toBe(7);
      const value = await nb.run("40 + 2");
      expect(shown(await nb.run(`_${value.number}, Out[8], In[8]`))).toBe("(42, 42, '40 + 2')");
    }
    const told = await command(["run", "book", "-c", "fail()", "--json"]);
    const { cells, state } = JSON.parse(told.stdout);
    expect([told.code, cells[0].number, state.present]).toEqual([1, 10, 10]);
    expect(cells[0].outputs[0].traceback).toMatch(/<cell 10>[\s\S]*<cell 5>/);
    const printed = await command(["run", "book", "-c", "fail()"]);
    expect(printed.stderr).toMatch(/<cell 11>[\s\S]*<cell 5>/);
    await expectNumbers("book", [6, 2, 3, 4, 5, 7, 8, 9, 10, 11]);

    expect((await command(["fork", "book", "twin"])).code).toBe(0);
    {
      await using service = await fixture.open();
      const answer = await call(service, "execute_cell", { session: "twin", code: "1 / 0" });
      expect(textOf(answer)).toMatch(/^cell 12 · ERROR · [^<]*File "<cell 12>"/s);
      expect(answer.structured).toMatchObject({ cell: { number: 12 } });
      const undone = await call(service, "undo", { session: "twin" });
      expect(undone.structured).toMatchObject({ undone: [12], now: 11 });
    }
    expect((await command(["run", "twin", "-c", "y = 1"])).code).toBe(0);
    expect((await command(["undo", "twin"])).stdout).toBe("undone: cell 13\n");
    await expectNumbers("twin", [6, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13]);
  });

  it("is that of the file after an import, and goes on from there", async () => {
    const file = join(fixture.dir, "a.ipynb");
    writeFileSync(file, JUPYTER);
    expect((await command(["import", file, "jupyter"])).code).toBe(0);
    const told = await command(["run", "jupyter", "-c", "1 / 0"]);
    expect(told.stderr).toContain('File "<cell 42>"');
    await expectNumbers("jupyter", [null, 41, null, 42]);
  });
});
