import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { sandboxAbsence } from "../support/command-line.js";
import { commandFor, DRAW, TABLE, tableAbsence } from "./agents.js";

const INSPECTOR = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/inspector-cli/build/cli.js", import.meta.url),
);

describe("with the inspector", () => {
  let dir = "";
  let absence: string | undefined;
  beforeAll(async () => {
    absence = await sandboxAbsence();
    dir = mkdtempSync(join(tmpdir(), "cellar-mcp-"));
  });
  beforeEach((context) => {
    if (absence !== undefined) context.skip(absence);
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10 }));

  async function inspect(method: string, ...options: string[]) {
    const { command, args } = commandFor(dir, []);
    const all = [INSPECTOR, "--cli", command, ...args, "--method", method, ...options];
    const { stdout } = await promisify(execFile)(process.execPath, all, { maxBuffer: 1 << 25 });
    return JSON.parse(stdout);
  }

  function execute(session: string, code: string) {
    const named = ["--tool-name", "execute_cell", "--tool-arg", `session=${session}`];
    return inspect("tools/call", ...named, "--tool-arg", `code=${code}`);
  }

  it("lists the tools and the prompt", async () => {
    expect((await inspect("tools/list")).tools.length).toBe(16);
    expect((await inspect("prompts/list")).prompts[0].name).toBe("use_notebook");
  });

  it("runs cells whose state is kept from one start to the next", async () => {
    expect((await execute("kept", "x = 41")).isError ?? false).toBe(false);
    const second = await execute("kept", "print('so', x + 1)");
    expect(second.content[0].text).toContain("so 42");
    expect(second.structuredContent).toMatchObject({ session: "kept", cell: { number: 2 } });
  });

  it("shows a table", async (context) => {
    const { content } = await execute("table", TABLE);
    const absence = tableAbsence(content[0].text);
    if (absence !== undefined) context.skip(absence);
    expect(content[0].text).toMatch(/table of 2 rows, 2 columns[\s\S]*Ulm/);
  });

  it("shows an image", async () => {
    const { content } = await execute("drawn", DRAW);
    const image = content.find((part: { type: string }) => part.type === "image");
    expect(image.mimeType).toBe("image/png");
  });

  it("gets a handle to 5 MB of output, and all of it behind the handle", async () => {
    const { content } = await execute("big", "print('x' * 5_000_000)");
    const { uri } = content.find((part: { type: string }) => part.type === "resource_link");
    const { contents } = await inspect("resources/read", "--uri", uri);
    expect(contents[0].text).toBe(`${"x".repeat(5_000_000)}\n`);
  });

  it("shows a failed cell, and reads a cell as a resource", async () => {
    const failed = await execute("failed", "1 / 0");
    expect(failed.isError).toBe(true);
    expect(failed.content[0].text).toContain("ZeroDivisionError");
    const uri = "notebook://session/failed/cell/0";
    const { resources } = await inspect("resources/list");
    expect(resources.map((one: { uri: string }) => one.uri)).toContain(uri);
    const { contents } = await inspect("resources/read", "--uri", uri);
    expect(contents[0].text).toContain("1 / 0");
  });
});
