import { describe, expect, it } from "vitest";
import { ServiceFixture, textOf } from "../../../test/support/notebook/service-fixture.js";
import { toolsOn } from "../../../test/support/notebook/tool-adapters.js";
import { TOOLS } from "../tool-list.js";

const fixture = new ServiceFixture();

describe("the tools that are offered", () => {
  it("are all of them, with schemas that allow nothing else", async () => {
    await using tools = await toolsOn(fixture);
    const definitions = tools.anthropic();
    expect(definitions.map(({ name }) => name)).toEqual(TOOLS.map(({ name }) => name));
    expect(tools.names).toEqual(Object.keys(tools.aiSdk()));
    for (const { description, input_schema: schema } of definitions) {
      expect(schema).toMatchObject({ type: "object", additionalProperties: false });
      expect(schema).not.toHaveProperty("$schema");
      // OpenAI refuses longer ones.
      expect(description.length).toBeLessThanOrEqual(1_024);
    }
    expect(definitions[0]?.input_schema).toMatchObject({
      properties: { code: { type: "string" }, session: { type: "string" } },
      required: ["code"],
    });
    expect(tools.instructions).toContain(tools.isolation.level);
  });

  it("take no session where the caller has chosen one, and leave out what is about others", async () => {
    await using tools = await toolsOn(fixture, { session: "chosen" });
    for (const { input_schema: schema } of tools.anthropic()) {
      expect(schema.properties).not.toHaveProperty("session");
      expect(schema.required ?? []).not.toContain("session");
      expect(schema.additionalProperties).toBe(false);
    }
    expect(tools.names).not.toContain("list_notebooks");
    expect(tools.instructions).toContain("the tools take no session");
    const ran = await tools.dispatch("execute_cell", { code: "x = 6 * 7\nx" });
    expect(ran.structured).toMatchObject({
      session: "chosen",
      cell: { outputs: [{ text: "42" }] },
    });
  });

  it("are there at once in a notebook that has no cell yet", async () => {
    await using tools = await toolsOn(fixture, { session: "fresh" });
    const files = await tools.dispatch("list_files", {});
    expect(files).toMatchObject({ isError: false, structured: { session: "fresh", files: [] } });
  });

  it("are only those that are wanted", async () => {
    await using tools = await toolsOn(fixture, { only: ["read_file", "execute_cell"] });
    expect(tools.names).toEqual(["execute_cell", "read_file"]);
    const refused = await tools.dispatch("undo", { session: "a" });
    expect(refused).toMatchObject({ isError: true, refusal: { code: "NOT_FOUND" } });
    expect(textOf(refused)).toContain("Use one of: execute_cell, read_file.");
  });

  it.each([
    [{ only: ["execute_cell", "no_such_tool"] }, "no_such_tool"],
    [{ only: [] }, "a list of names"],
    [{ only: ["list_notebooks"], session: "chosen" }, "list_notebooks"],
  ])("are refused as %o", async (options, told) => {
    await expect(toolsOn(fixture, options)).rejects.toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringContaining(told),
      remedy: expect.stringContaining("execute_cell"),
    });
  });

  it.each(["../bob/x", ""])("are refused for a session called %o", async (session) => {
    await expect(toolsOn(fixture, { session })).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });
});

describe("dispatch", () => {
  it("takes arguments as an object or as JSON", async () => {
    await using tools = await toolsOn(fixture, { session: "forms" });
    const first = await tools.dispatch("execute_cell", '{"code": "y = 3"}');
    const second = await tools.dispatch("execute_cell", { code: "y + 1" });
    expect([first.isError, textOf(second)]).toEqual([false, expect.stringContaining("4")]);
    expect(await tools.dispatch("show_notebook", "")).toMatchObject({ isError: false });
    expect(await tools.dispatch("show_notebook", undefined)).toMatchObject({ isError: false });
  });

  it.each([
    ["{", "not JSON"],
    ['"code"', "invalid arguments"],
    [{ code: 1 }, "code"],
    [{ code: "1", session: "other" }, "session"],
    [{ code: "1", timeout: 9 }, "timeout"],
    [null, "code"],
  ])("refuses %o with what to change", async (input, told) => {
    await using tools = await toolsOn(fixture, { session: "forms" });
    const refused = await tools.dispatch("execute_cell", input);
    expect(refused).toMatchObject({ isError: true, refusal: { code: "INVALID_INPUT" } });
    expect(refused.refusal?.message).toContain(told);
    expect(textOf(refused)).toMatch(/(It takes|Give an object with): code\.$/);
  });

  it("lets a model name the session that answers tell of", async () => {
    await using tools = await toolsOn(fixture, { session: "forms" });
    const input = { code: "2 + 2", session: "forms" };
    const { isError, structured } = await tools.dispatch("execute_cell", input);
    expect([isError, structured]).toMatchObject([false, { session: "forms" }]);
  });

  it("goes on in one notebook where no session is named, and lets no model delete a chosen one", async () => {
    await using tools = await toolsOn(fixture);
    const first = await tools.dispatch("execute_cell", { code: "df = 41" });
    const second = await tools.dispatch("execute_cell", '{"code":"df + 1"}');
    const { session } = first.structured as { session: string };
    expect(second.structured).toMatchObject({ session, cell: { outputs: [{ text: "42" }] } });
    await using chosen = await toolsOn(fixture, { session: "chosen" });
    expect(chosen.names).not.toContain("delete_notebook");
  });

  it("answers bad arguments without a chosen session too", async () => {
    await using tools = await toolsOn(fixture);
    for (const input of ["[", [], { cod: "1" }, 7]) {
      const refused = await tools.dispatch("execute_cell", input);
      expect(refused).toMatchObject({ isError: true, refusal: { code: "INVALID_INPUT" } });
    }
  });

  it("interrupts a cell and keeps the variables", async () => {
    await using tools = await toolsOn(fixture, { session: "stopped" });
    const stopping = new AbortController();
    const code = "z = 5\nprint('in it', flush=True)\nwhile True: pass";
    const answer = await tools.dispatch(
      "execute_cell",
      { code },
      { signal: stopping.signal, onText: () => stopping.abort() },
    );
    expect(answer).toMatchObject({ isError: true, structured: { cell: { state: "CANCELLED" } } });
    const after = await tools.dispatch("execute_cell", { code: "z" });
    expect(after.structured).toMatchObject({ cell: { outputs: [{ text: "5" }] } });
  });

  it("reaches nothing of another user, and no other notebook of the same one", async () => {
    await using bob = await toolsOn(fixture, { user: "bob", session: "diary" });
    await bob.dispatch("write_file", { path: "a.txt", content: "secret" });
    await using ann = await toolsOn(fixture, { session: "own" });
    const uri = "notebook://session/diary/files/a.txt";
    expect((await bob.readResource(uri)).text).toBe("secret");
    await expect(ann.readResource(uri)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await using other = await toolsOn(fixture, { session: "second" });
    await other.dispatch("write_file", { path: "b.txt", content: "mine" });
    const mine = "notebook://session/second/files/b.txt";
    await expect(ann.readResource(mine)).rejects.toMatchObject({ code: "NOT_FOUND" });
    const all = await ann.dispatch("read_file", { path: "../second/b.txt" });
    expect(all.isError).toBe(true);
  });
});
