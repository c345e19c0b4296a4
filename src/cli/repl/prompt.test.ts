import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Screen, sandboxAbsence } from "../../../test/support/command-line.js";
import { screenOf } from "../../../test/support/virtual-terminal.js";

const REPL = ["repl", "--preload", "none"];
const UP = "\u001b[A";
const CTRL_R = "\u0012";
const ALT_ENTER = "\u001b\r";

describe("the prompt on a terminal", () => {
  let absence: string | undefined;
  let folder = "";
  beforeAll(async () => {
    absence = await sandboxAbsence();
    folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  beforeEach((ctx) => {
    if (absence !== undefined) ctx.skip(`no sandbox: ${absence}`);
  });

  const open = (name: string, past?: string) => {
    const home = join(folder, name);
    mkdirSync(join(home, "cellar"), { recursive: true });
    if (past !== undefined) writeFileSync(join(home, "cellar", "history"), past);
    const env = { XDG_STATE_HOME: home, NO_COLOR: "1" };
    return new Screen(REPL, { env, cwd: folder });
  };
  /** The last lines of the screen, from the newest prompt on. */
  const atPrompt = (screen: Screen) => {
    const lines = screenOf(screen.text);
    return lines.slice(lines.findLastIndex((line) => line.startsWith("In [")));
  };

  it("completes names, attributes and its own commands with Tab", async () => {
    using screen = open("tab");
    await screen.sees(/In \[1\]: /);
    screen.type("a_long_name = 255\r");
    await screen.sees(/In \[2\]: /);
    screen.type("a_lon\t");
    await screen.sees(/a_long_name/);
    expect(atPrompt(screen)).toEqual(["In [2]: a_long_name"]);
    screen.type(".bit\t");
    await screen.sees(/\.bit_/);
    screen.type("\t");
    await screen.sees(/bit_count +bit_length|bit_length\r\n/);
    screen.type("l\t");
    await screen.sees(/bit_length/);
    // Keys behind Tab wait for it.
    screen.type("()\t\r");
    await screen.sees(/Out\[2\]: 8\r\n/);
    await screen.sees(/In \[3\]: /);
    screen.type("%checkp\t\r");
    await screen.sees(/after cell 2/);
    await screen.sees(/In \[3\]: /);
    // At the beginning of a line it indents.
    screen.type("if True:\r\tprint('indented')\r\r");
    await screen.sees(/\nindented\r\n/);
  });

  it("does not let what Tab asks hang the prompt, or write to the terminal", async () => {
    using screen = open("hostile");
    await screen.sees(/In \[1\]: /);
    const hanging = "def __dir__(self):\r        while True: pass\r\r";
    screen.type(`class Hanging:\r    ${hanging}`);
    await screen.sees(/In \[2\]: /);
    screen.type("h = Hanging(); d = {'k\\x1b]0;title\\x07': 1, 'key': 2, 'keys': 3}\r");
    await screen.sees(/In \[3\]: /);
    screen.type("h.\t\u0015d['\t\t");
    await screen.sees(/keys'\]/);
    expect(screen.text).not.toContain("\u001b]0");
    screen.type("s']\r");
    await screen.sees(/Out\[3\]: 3\r\n/);
  });

  it("brings back whole cells with Up, to be changed and run", async () => {
    // As versions before kept it: line by line.
    using screen = open("up", "old_line = 1\n    return 5\n");
    await screen.sees(/In \[1\]: /);
    screen.type("def double(a):\r    return a * 2\r\r");
    await screen.sees(/In \[2\]: /);
    screen.type("double(4)\r");
    await screen.sees(/Out\[2\]: 8\r\n/);
    await screen.sees(/In \[3\]: /);
    screen.type(UP + UP);
    await screen.sees(/return a \* 2/);
    expect(atPrompt(screen)).toEqual(["In [3]: def double(a):", "   ...:     return a * 2"]);
    // Into the first line, and back to its end: the function gets another name.
    screen.type(`${UP}\u0001\u001bf\u001bf_more\r`);
    await screen.sees(/In \[4\]: /);
    screen.type("double_more(21)\r");
    await screen.sees(/Out\[4\]: 42\r\n/);
    await screen.sees(/In \[5\]: /);
    screen.type(UP + UP + ALT_ENTER);
    await screen.sees(/\.\.\.: \r?/);
    screen.type(`    # more\r`);
    await screen.sees(/In \[6\]: /);
    screen.type("old\u001b[A");
    await screen.sees(/old_line = 1/);
    screen.type("\u0003\u0004");
    expect(await screen.ended()).toBe(0);
    const kept = readFileSync(join(folder, "up", "cellar", "history"), "utf8").split("\n");
    expect(kept.slice(0, 4)).toEqual([
      "old_line = 1",
      "    return 5",
      "def double(a):\u001e    return a * 2",
      "double(4)",
    ]);
    using again = open("up");
    await again.sees(/In \[1\]: /);
    again.type("def double(\u001b[A");
    await again.sees(/return a \* 2/);
    expect(atPrompt(again)[0]).toBe("In [1]: def double(a):");
  });

  it("searches the cells of the past with Ctrl-R", async () => {
    using screen = open("search", "first = 'apple'\nsecond = 'apple pie'\nthird = 3\n");
    await screen.sees(/In \[1\]: /);
    screen.type(`typed${CTRL_R}app`);
    await screen.sees(/reverse-i-search\) app/);
    expect(atPrompt(screen)).toEqual(["In [1]: second = 'apple pie'", "(reverse-i-search) app"]);
    screen.type(CTRL_R);
    await screen.sees(/first = 'apple'/);
    screen.type(CTRL_R);
    await screen.sees(/failed reverse-i-search\) app/);
    screen.type("\u0007");
    await screen.sees(/In \[1\]: typed/);
    expect(atPrompt(screen)).toEqual(["In [1]: typed"]);
    screen.type(`${CTRL_R}third\r`);
    await screen.sees(/In \[2\]: /);
    screen.type("third + 1\r");
    await screen.sees(/Out\[2\]: 4\r\n/);
  });

  it("takes a paste as one cell, however many lines it has", async () => {
    using screen = open("paste");
    await screen.sees(/In \[1\]: /);
    screen.type(
      "\u001b[200~def f():\r    x = 1\r\r    return x\r\rprint('pasted', f())\u001b[201~",
    );
    await screen.sees(/print\('pasted', f\(\)\)/);
    expect(screen.text).not.toContain("In [2]");
    screen.type("\r");
    await screen.sees(/\npasted 1\r\n/);
    await screen.sees(/In \[2\]: /);
  });
});
