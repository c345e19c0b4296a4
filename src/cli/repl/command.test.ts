import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { cellar, Screen, sandboxAbsence } from "../../../test/support/command-line.js";

const REPL = ["repl", "--preload", "none"];

describe("cellar repl", () => {
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

  it("runs cells from a pipe without prompts", async () => {
    const input = "x = 20\n\ndef f(a):\n    return a + x\n\nf(22)\n\n%vars\n";
    const { code, stdout } = await cellar(REPL, { input });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^42\nx +int +20\nf +function /);
  });

  it("goes on after a failed cell, says so in its exit code, and keeps the state", async () => {
    const input = "x = 7\n\n1/0\n\nimport ctypes; ctypes.string_at(0)\n\nx\n";
    const { code, stdout, stderr } = await cellar(REPL, { input });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "7\n" });
    expect(stderr).toMatch(/ZeroDivisionError[\s\S]*SIGSEGV/);
  });

  it("goes back, lists checkpoints and saves cells", async () => {
    const saved = join(folder, "cells.py");
    const input = `x = 1\n\nx = 2\n\n%undo\n\nx\n\n%checkpoints\n\n%save ${saved}\n\n%undo zero\n\n%save ${saved}\n\n%save --force ${saved}\n`;
    const { code, stdout, stderr } = await cellar(REPL, { input });
    expect(code).toBe(1);
    expect(stdout).toBe(
      "back to the state after cell 1\n1\nthe start\nafter cell 1\nafter cell 3\n" +
        `wrote ${saved} (28 bytes)\nwrote ${saved} (28 bytes)\n`,
    );
    expect(stderr).toContain("%undo takes a whole number");
    expect(stderr).toContain(`${saved} already exists`);
    expect(readFileSync(saved, "utf8")).toBe("#%%\nx = 1\n\n#%%\nx = 2\n\n#%%\nx\n");
  });

  it("tells when a state has no checkpoint, once for a reason", async () => {
    const start =
      "import threading; e = threading.Event(); threading.Thread(target=e.wait).start()";
    const { stderr } = await cellar(REPL, { input: `${start}\n\n1\n\n2\n\ne.set()\n` });
    expect(stderr).toContain("no checkpoint: threads");
    expect(stderr.split("no checkpoint: threads")).toHaveLength(2);
    const wasm = await cellar([...REPL, "--backend", "pyodide"], { input: "1\n" });
    expect(wasm.stderr).toBe("no checkpoint: WebAssembly cannot be forked\n");
  });

  it("leaves at quit", async () => {
    expect((await cellar(REPL, { input: "1\n\nquit()\n\n2\n" })).stdout).toBe("1\n");
  });

  it("gives a person what an agent has, with a context", async () => {
    const file = join(folder, "book.txt");
    writeFileSync(file, "one\ntwo\nthe white whale\n");
    const cells = ["context_len()", "hits = grep('whale')", "FINAL({'line': hits[0].line})"];
    const { code, stdout } = await cellar([...REPL, "--context", file], {
      input: cells.join("\n\n"),
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "24\n{'line': 3}\n" });
    const odd = await cellar([...REPL, "--context", file, "--policy", "ast"], {
      input: "6 × 7\n\nimport subprocess\n\nFINAL(print)\n\n%help\n",
    });
    expect(odd.code).toBe(1);
    expect(odd.stdout).toMatch(/^42\n%undo[\s\S]*peek {2}grep/);
    expect(odd.stderr).toContain("[replaced in the code: × by * in line 1]");
    expect(odd.stderr).toContain("[import.subprocess]");
    expect(odd.stderr).toMatch(/TypeError: FINAL\(\)/);
  });

  it("lets flags and settings decide over what an agent has", async () => {
    const file = join(folder, "short.txt");
    writeFileSync(file, "text");
    const input = "import os; hasattr(os, 'path') and eval('1 + 1')";
    const none = await cellar([...REPL, "--context", file], { input });
    expect(none.stdout).toBe("2\n");
    const env = { CELLAR_POLICY: "ast" };
    const setting = await cellar([...REPL, "--context", file], { input, env });
    expect(setting.stderr).toContain("[call.hasattr]");
    const flag = await cellar([...REPL, "--context", file, "--policy", "off"], { input, env });
    expect(flag.stdout).toBe("2\n");
    const absent = await cellar([...REPL, "--context", join(folder, "nothing.txt")], { input });
    expect(absent.code).toBe(2);
    expect(absent.stderr).toContain("nothing.txt");
  });

  it("shows an answer on a terminal", async () => {
    const file = join(folder, "words.txt");
    writeFileSync(file, "some words");
    const env = { XDG_STATE_HOME: folder, NO_COLOR: "1" };
    using screen = new Screen([...REPL, "--context", file], { env, cwd: folder });
    await screen.sees(/In \[1\]: /);
    screen.type("FINAL(peek(4))\r");
    await screen.sees(/Answer: some\r\n/);
    await screen.sees(/In \[2\]: /);
    screen.type("\u0004");
    expect(await screen.ended()).toBe(0);
  });

  it("talks on a terminal: blocks, values, Ctrl-C, Ctrl-D and history", async () => {
    const env = { XDG_STATE_HOME: folder, NO_COLOR: "1" };
    using screen = new Screen(REPL, { env, cwd: folder });
    await screen.sees(/In \[1\]: /);
    screen.type("def f(a):\r    return a * 2\r\r");
    await screen.sees(/In \[2\]: /);
    screen.type("f(21)\r");
    await screen.sees(/Out\[2\]: 42\r\n/);
    await screen.sees(/In \[3\]: /);
    screen.type("import time; print('go'); time.sleep(600)\r");
    await screen.sees(/\ngo\r\n/);
    screen.type("\u0003");
    await screen.sees(/cancelled/);
    await screen.sees(/In \[4\]: /);
    screen.type("(1,\r");
    await screen.sees(/\.\.\.: /);
    screen.type("2\u0003");
    await screen.sees(/\^C\r\n.*In \[4\]: /);
    screen.type("print('\\x1b]0;t\\x07', end='')\r");
    await screen.sees(/\n\\x1b\]0;t\\x07\r\n/);
    await screen.sees(/In \[5\]: /);
    screen.type("\u001b[A\u001b[A\u001b[A");
    await screen.sees(/f\(21\)/);
    screen.type("\r");
    await screen.sees(/Out\[5\]: 42\r\n/);
    await screen.sees(/In \[6\]: /);
    screen.type("\u0004");
    expect(await screen.ended()).toBe(0);
    const history = join(folder, "cellar", "history");
    expect(readFileSync(history, "utf8")).toContain("f(21)\n");
    expect(statSync(history).mode & 0o777).toBe(0o600);
  });
});
