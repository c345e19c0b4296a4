import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Ground, MAIN, run } from "./machines/machines.js";

const FOLDER = join(import.meta.dirname, "..", "examples");
/** The exit code of the command line where the sandbox is weaker than what is asked for. */
const NO_SANDBOX = 125;

/** What the page says that each of them prints. */
function outputsIn(page: string): Map<string, string> {
  const sections = page.matchAll(/^\[([\w-]+\.mjs)\]\(\1\)[^`]*?^```text\n([\s\S]*?)^```/gm);
  return new Map([...sections].map(([, name = "", output = ""]) => [name, output]));
}

const outputs = outputsIn(readFileSync(join(FOLDER, "README.md"), "utf8"));
const ground = new Ground();
const env = { HOME: ground.folder("home") };
let absence: string | undefined;

beforeAll(async () => {
  const { code, stderr } = await run(process.execPath, [MAIN, "exec", "-c", "6 * 7"], env);
  if (code === NO_SANDBOX) absence = `no sandbox: ${stderr.trim()}`;
});

afterAll(() => ground[Symbol.dispose]());

describe("the examples", () => {
  it("are told on their page, all of them", () => {
    const programs = readdirSync(FOLDER).filter((name) => name.endsWith(".mjs"));
    expect([...outputs.keys()]).toEqual(programs.sort());
  });

  it.for([...outputs])("%s prints what the page says, and ends", async ([name, output], ctx) => {
    if (absence !== undefined) ctx.skip(absence);
    const { code, stdout, stderr } = await run(process.execPath, [join(FOLDER, name)], env);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: output, stderr: "" });
  });
});
