import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needWalls } from "../attack-fixture.js";
import { descendants } from "../attack-runner.js";
import { McpProcess } from "./mcp-client.js";
import { readSection } from "./section.js";

const TOOLS = readFileSync(new URL("tools.py", import.meta.url), "utf8");
/** Answers are for a model to read. */
const MOST_CHARACTERS = 500_000;
const MOST_NOTICES = 200;
/** Cells that are ended, so that what they print may not be all. */
const ENDED = /^mcp-(18|23)$/;
/** Where dates are kept as they were set, unlike on most disks. */
const SHARED_MEMORY = "/dev/shm";

const BESIDE = "import os; kept = 7; pid = os.getpid()";

const absence = needWalls();
const dir = mkdtempSync(join(existsSync(SHARED_MEMORY) ? SHARED_MEMORY : tmpdir(), "mcp-"));
let server: McpProcess | undefined;

beforeAll(async () => {
  if (absence() !== undefined) return;
  server = new McpProcess(dir);
  await server.begin();
  await server.call("execute_cell", { session: "beside", code: BESIDE });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  // Paths in there are too long to be removed by their names.
  execFileSync("rm", ["-rf", dir]);
  expect(descendants()).toEqual([]);
});

describe("cells aimed at the MCP server", () => {
  const cells = readSection("mcp.json");
  it.each(cells.map(({ id, code }) => [id, code] as const))("%s", { timeout: 150_000 }, run);
});

async function run(session: string, code: string): Promise<void> {
  if (server === undefined) throw new Error("the server is not there");
  const before = server.notices;
  expect(await server.call("execute_cell", { session, code: TOOLS })).toContain("COMPLETED");
  const answer = await server.call("execute_cell", { session, code });
  if (!ENDED.test(session)) expect(answer).toContain("after");
  const said = [
    answer,
    await server.call("list_files", { session }),
    await server.call("read_file", { session, path: "data.txt" }),
    await server.call("show_notebook", { session }),
    await server.call("execute_cell", { session, code: "1 + 1" }),
  ];
  expect(said[1]).toMatch(/^(?!.*Cellar failed)/s);
  // Folders that cannot be counted are the session's own trouble, and told.
  expect(said[4]).toMatch(/^2$|^WorkspaceQuotaExceeded: /m);
  for (const text of said) {
    expect(text.length).toBeLessThan(MOST_CHARACTERS);
    expect(text).not.toContain("root:x:0:");
  }
  expect(said[1]).not.toMatch(/^cell 9 · COMPLETED/m);
  expect(said[1]).not.toContain("\u001b");
  await server.call("undo", { session });
  const beside = { session: "beside", code: "(kept, pid == os.getpid())" };
  const answered = await server.call("execute_cell", beside);
  // What was lost must not make the next cell fail too.
  if (!answered.includes("(7, True)"))
    await server.call("execute_cell", { session: "beside", code: BESIDE });
  expect(answered).toContain("(7, True)");
  expect(server.notices - before).toBeLessThan(MOST_NOTICES);
  expect(server.astray).toEqual([]);
  expect(server.child).toMatchObject({ exitCode: null, signalCode: null });
}
