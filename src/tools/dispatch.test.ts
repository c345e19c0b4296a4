import { describe, expect, it } from "vitest";
import { z } from "zod";
import { execute, ServiceFixture, textOf } from "../../test/support/notebook/service-fixture.js";
import type { Cell } from "../notebook/cell.js";
import { callTool } from "./dispatch.js";
import { TOOLS } from "./tool-list.js";
import type { CellView, OutputView } from "./view/shapes.js";

const fixture = new ServiceFixture();

const NAMES = [
  "execute_cell",
  "rerun_cell",
  "show_cell",
  "show_notebook",
  "delete_cell",
  "clear_notebook",
  "create_notebook",
  "list_notebooks",
  "delete_notebook",
  "export_ipynb",
  "undo",
  "fork_notebook",
  "list_files",
  "read_file",
  "write_file",
  "mark_private",
];

/** What is of the library in a view is of the library's types. */
type Shared = Pick<Cell, "id" | "number" | "state" | "executionCount">;
const isOfTheLibrary = (view: CellView): Shared => view;
const typeOf = (view: OutputView): Cell["outputs"][number]["type"] => view.type;

describe("the list of tools", () => {
  it("has every tool once", () => {
    expect(TOOLS.map(({ name }) => name)).toEqual(NAMES);
  });

  it.each(TOOLS)("describes $name for a model, and takes nothing beside", (tool) => {
    const input = z.toJSONSchema(tool.input);
    const output = z.toJSONSchema(tool.output, { io: "output" });
    expect([input.type, output.type]).toEqual(["object", "object"]);
    expect([input.additionalProperties, output.additionalProperties]).toEqual([false, false]);
    expect(Object.keys(output.properties ?? {})).toContain("isolation");
    for (const [name, property] of Object.entries(input.properties ?? {})) {
      expect(property, `${tool.name}.${name}`).toHaveProperty("description");
    }
    expect(tool.description.length).toBeGreaterThan(60);
    expect(tool.description.length).toBeLessThan(800);
    for (const name of ["user", "dir", "timeout", "network", "mounts", "limits", "env"]) {
      expect(Object.keys(tool.input.shape)).not.toContain(name);
    }
  });

  it("calls nothing harmless that deletes, and nothing harmful that only looks", () => {
    const isReadOnly = (name: string) => /^(show|list|read|export)_/.test(name);
    for (const { name, hints } of TOOLS) {
      expect(hints.readOnly, name).toBe(isReadOnly(name));
      if (hints.readOnly) expect(hints.destructive, name).toBe(false);
    }
  });
});

describe("callTool", () => {
  it("answers unknown tools and bad arguments with what to change", async () => {
    const service = await fixture.open();
    const cases: readonly (readonly [string, unknown, string])[] = [
      ["run_shell", {}, "Use one of: execute_cell"],
      ["execute_cell", {}, "code:"],
      ["execute_cell", { code: 1 }, "code:"],
      ["execute_cell", { code: "1", user: "bob" }, '"user"'],
      ["execute_cell", { code: "1", timeout: 1e9 }, '"timeout"'],
      ["execute_cell", { code: "1", session: 5 }, "session:"],
      ["execute_cell", null, "code:"],
      ["execute_cell", "code", "It takes: code, session."],
      ["execute_cell", [], "It takes: code, session."],
      ["show_cell", { session: "x", cell: -1 }, "cell:"],
      ["show_cell", { session: "x", cell: 1.5 }, "cell: expected the number of a cell"],
      ["undo", { session: "x", count: 0 }, "count:"],
      ["__proto__", {}, "Use one of"],
    ];
    for (const [name, input, told] of cases) {
      const answer = await callTool(service, name, input);
      expect(answer.isError, `${name} ${JSON.stringify(input)}`).toBe(true);
      expect(textOf(answer)).toContain(told);
      const isolation = service.isolation.level;
      expect(answer.structured).toEqual({ isolation, error: { ...answer.refusal } });
    }
    expect(await service.list()).toEqual([]);
  });

  it("answers code that is too long, without a cell", async () => {
    const service = await fixture.open();
    const answer = await callTool(service, "execute_cell", { code: "x".repeat(1_000_001) });
    expect(answer.refusal?.code).toBe("INVALID_INPUT");
    expect(textOf(answer).length).toBeLessThan(500);
  });

  it("says what to do when a notebook is full", async () => {
    const service = await fixture.open({ config: { maxCells: 1 } });
    const { cell } = await execute(service, "small", "1");
    expect(isOfTheLibrary(cell)).toMatchObject({ number: 1, state: "COMPLETED" });
    expect(cell.outputs.map(typeOf)).toEqual(["TEXT"]);
    const answer = await callTool(service, "execute_cell", { session: "small", code: "2" });
    expect(answer.refusal?.code).toBe("LIMIT_REACHED");
    expect(textOf(answer)).toContain("delete_cell");
  });

  it("gives hints about limits that code cannot change", async () => {
    const service = await fixture.open({ config: { timeout: 500 } });
    const { cell, text } = await execute(service, "slow", "while True: pass");
    expect(cell.state).toBe("TIMEOUT");
    expect(cell.hints).toEqual([
      "a cell may take 0.5 s; split the work, and write results to a file",
    ]);
    expect(text).toContain("hint: a cell may take 0.5 s");
  });
});
