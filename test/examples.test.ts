import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Fixture, program, run } from "./machines/machines.js";

const FOLDER = join(import.meta.dirname, "..", "examples");
/** Prints why there is no sandbox, where there can be none; what else may go wrong is for the examples to show. */
const TRIAL = program([
  "await cellar.createSandbox().catch(({ code, message }) => {",
  '  if (code === "SANDBOX_UNAVAILABLE") console.log(message);',
  "});",
  "await cellar.shutdown();",
]);

/** What the page says that each of them prints. */
function outputsIn(page: string): Map<string, string> {
  const sections = page.matchAll(/^\[([\w-]+\.mjs)\]\(\1\)[^`]*?^```text\n([\s\S]*?)^```/gm);
  return new Map([...sections].map(([, name = "", output = ""]) => [name, output]));
}

const outputs = outputsIn(readFileSync(join(FOLDER, "README.md"), "utf8"));
const fixture = new Fixture();
// None of them needs a library; loading them takes longer than the examples.
const env = { HOME: fixture.folder("home"), CELLAR_PRELOAD: "none" };
let absence: string | undefined;

beforeAll(async () => {
  const [node = "", ...args] = TRIAL;
  const { stdout } = await run(node, args, env);
  if (stdout !== "") absence = `no sandbox: ${stdout.trim()}`;
});

afterAll(() => fixture[Symbol.dispose]());

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
