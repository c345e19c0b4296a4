import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { cellar, MAIN, Screen, sandboxAbsence } from "../../../test/support/command-line.js";

const HOSTILE_CODE =
  "print('\\x1b]52;c;cm0gLXJmIC8=\\x07\\x1b[2J\\x1b]0;title\\x07\\x9b31m\\r\\nERROR [daemon] admin login ok')";
const HOSTILE_TEXT =
  "\u001b]52;c;cm0gLXJmIC8=\u0007\u001b[2J\u001b]0;title\u0007\u009b31m\r\nERROR [daemon] admin login ok\n";

let folder = "";
const file = (name: string, content: string | Buffer): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

describe("cellar exec, before anything runs", () => {
  it("refuses files that are no source, each with its reason and code 2", async () => {
    const cases: [string, RegExp][] = [
      [join(folder, "absent.py"), /it does not exist/],
      [folder, /is a folder/],
      [file("binary.py", Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0])), /null bytes/],
      [file("latin.py", Buffer.from([0x78, 0x3d, 0xe9, 0x0a])), /not UTF-8/],
      [file("odd.py", "# coding: klingon\n1"), /coding line says "klingon", which is not known/],
      [file("both.py", "\ufeff# coding: latin-1\n1"), /begins as UTF-8.* coding is latin-1/],
      [file("huge.py", Buffer.alloc(9 * 1024 * 1024, "#")), /more than \d+ bytes/],
    ];
    for (const [path, reason] of cases) {
      const { code, stdout, stderr } = await cellar(["exec", path]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(reason);
    }
  });

  it("reads every file before it runs the first", async () => {
    const first = file("first.py", "print('ran')");
    const { code, stdout } = await cellar(["exec", first, join(folder, "absent.py")]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });

  it("wants code from one place", async () => {
    const nothing = await cellar(["exec"]);
    expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining("nothing to run") });
    expect((await cellar(["exec", "-c", "1", "x.py"])).code).toBe(2);
    expect((await cellar(["exec", "-", "-"])).code).toBe(2);
  });

  it("tells errors as one JSON object when asked for JSON", async () => {
    const { code, stdout } = await cellar(["exec", "--json", join(folder, "absent.py")]);
    expect(code).toBe(2);
    expect(JSON.parse(stdout).error).toMatchObject({ code: "INVALID_INPUT" });
  });

  it("refuses option values that make no sense", async () => {
    const wrong = [
      ["--timeout", "0"],
      ["--timeout", "soon"],
      ["--timeout", "5x"],
      ["--timeout", "999h"],
      ["--memory", "-5"],
      ["--memory", "1"],
      ["--memory", "512KB"],
      ["--memory", "1000000000"],
      ["--max-output", "999999999999"],
      ["--min-isolation", "L9"],
      ["--mount", "here"],
      ["--mount", "a:b"],
      ["--mount", "/tmp:/x:rx"],
      ["--env", "A B=1"],
      ["--env", "CELLAR_TEST_NOT_SET"],
      ["--preload", "some"],
    ];
    for (const option of wrong) {
      expect({ option, code: (await cellar(["exec", ...option, "-c", "1"])).code }).toEqual({
        option,
        code: 2,
      });
    }
  });

  it.each([
    [["exec", "/no/such.py"]],
    [["exec", "/"]],
    [["exec", "-", "-"]],
    [["exec", "a.py", "-c", "1"]],
    [["exec", "--mount", "/no/such:/data", "-c", "1"]],
    [["mcp", "--json"]],
  ])("says what to do about %j", async (args) => {
    const { code, stdout, stderr } = await cellar(args, { input: "" });
    const remedy = stdout === "" ? /\n {2}fix: \w/.exec(stderr) : JSON.parse(stdout).error.remedy;
    expect({ code, remedy }).toEqual({ code: 2, remedy: expect.anything() });
  });

  it("says what a flag takes, and what a bare number of it means", async () => {
    const time = await cellar(["exec", "--timeout", "5x", "-c", "1"]);
    expect(time.stderr).toContain(
      "'5x' is invalid. Write 500ms, 5s, 2m or 1h; a number without a unit is in seconds",
    );
    const small = await cellar(["exec", "--memory", "1", "-c", "1"]);
    expect(small.stderr).toContain("It is 1 MB, and a session needs at least 8 MB");
    const large = await cellar(["exec", "--memory", "99TB", "-c", "1"]);
    expect(large.stderr).toMatch(/It is 103809024 MB, and this machine has \d+ MB/);
    const help = (await cellar(["exec", "--help"])).stdout.replace(/\s+/g, " ");
    expect(help).toMatch(
      /--timeout <time>.*a bare number is seconds.*--memory.*a bare number is MB/,
    );
  });

  it("leaves with 2 when a Python that was named cannot be used", async () => {
    const python = join(folder, "no-python");
    const flag = await cellar(["exec", "--json", "--python", python, "-c", "1"]);
    expect(flag.code).toBe(2);
    expect(JSON.parse(flag.stdout).error).toMatchObject({ code: "PYTHON_UNSUITABLE" });
    const variable = await cellar(["exec", "-c", "1"], { env: { CELLAR_PYTHON: python } });
    expect(variable).toMatchObject({ code: 2, stderr: expect.stringContaining(python) });
  });

  it("leaves with 125 when the sandbox cannot be had", async () => {
    const { code, stdout } = await cellar(["exec", "--json", "--min-isolation", "L4", "-c", "1"]);
    expect(code).toBe(125);
    expect(JSON.parse(stdout).error.remedy).toMatch(/minIsolation|bubblewrap/);
  });
});

describe("cellar exec", () => {
  let absence: string | undefined;
  beforeAll(async () => {
    absence = await sandboxAbsence();
  });
  beforeEach((ctx) => {
    if (absence !== undefined) ctx.skip(`no sandbox: ${absence}`);
  });

  it("prints output and the last value, and leaves with 0", async () => {
    const { code, stdout, stderr } = await cellar(["exec", "-c", "print('out')\n1 + 1"]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "out\n2\n", stderr: "" });
    expect((await cellar(["exec", "--quiet", "-c", "1 + 1"])).stdout).toBe("");
  });

  it("tells a script its name and the words behind --", async () => {
    const names = "import os, sys\nprint(sys.argv, __file__, os.path.exists(__file__))\n";
    const script = file("named.py", names);
    const { stdout } = await cellar(["exec", script, "--", "--year", "2024", "-c"]);
    const argv = `['${script}', '--year', '2024', '-c']`;
    expect(stdout).toBe(`${argv} /workspace/named.py True\n`);
    const code = "import sys\nprint(sys.argv, '__file__' in globals())";
    expect((await cellar(["exec", "-c", code, "--", "a"])).stdout).toBe("['-c', 'a'] False\n");
  });

  it("reads stdin, and files as cells of one session up to the first failure", async () => {
    expect((await cellar(["exec", "-"], { input: "\ufeffprint('été')" })).stdout).toBe("été\n");
    expect((await cellar(["exec"], { input: "5*5" })).stdout).toBe("25\n");
    const files = [
      file("a.py", "x = 5"),
      file("b.py", "x\n"),
      file("c.py", "1/0"),
      file("d.py", "x"),
    ];
    const { code, stdout } = await cellar(["exec", ...files]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "5\n" });
  });

  it("runs several pieces of code as cells of one session", async () => {
    expect((await cellar(["exec", "-c", "x = 6", "-c", "x * 7"])).stdout).toBe("42\n");
    const { stdout } = await cellar(["exec", "--json", "-c", "1", "-c", "1/0", "-c", "3"]);
    const { executions } = JSON.parse(stdout);
    expect(executions).toMatchObject([{ status: "ok" }, { status: "error" }]);
    expect(executions).toHaveLength(2);
  });

  it("reads a script by its coding line", async () => {
    const latin = Buffer.from("# -*- coding: latin-1 -*-\nprint(ascii('é\u0080'))\n", "latin1");
    const windows = Buffer.from(
      "#!python\n# vim: fileencoding=cp1252\nprint(ascii('é\u0080'))",
      "latin1",
    );
    const copy = "print(open(__file__, encoding='utf-8').read().count('é'))";
    const both = await cellar(["exec", file("l.py", latin), file("w.py", windows)]);
    expect(both).toMatchObject({ stdout: "'\\xe9\\x80'\n'\\xe9\\u20ac'\n" });
    const own = Buffer.from(`# coding=latin-1\n${copy}`, "latin1");
    expect((await cellar(["exec", file("o.py", own)])).stdout).toBe("1\n");
  });

  it("keeps as many characters as --max-output says", async () => {
    for (const character of ["é", "😀"]) {
      const args = ["exec", "--max-output", "10", "-c", `print('${character}' * 100)`];
      const { stdout } = await cellar(args);
      expect([...stdout].filter((one) => one === character)).toHaveLength(9);
    }
  });

  it("passes the guest's exit code through", async () => {
    const codes = [
      ["import sys; sys.exit(3)", 3, ""],
      ["import sys; sys.exit()", 0, ""],
      ["import sys; sys.exit(-1)", 255, ""],
      ["import sys; sys.exit('words')", 1, "words\n"],
    ] as const;
    for (const [source, wanted, words] of codes) {
      const { code, stderr } = await cellar(["exec", "-c", source]);
      expect({ source, code, stderr }).toEqual({ source, code: wanted, stderr: words });
    }
  });

  it("tells uncaught exceptions, time, memory and crashes apart", async () => {
    const raised = await cellar(["exec", "-c", "def f():\n    1/0\nf()"]);
    expect(raised.code).toBe(1);
    expect(raised.stderr).toMatch(/^Traceback[\s\S]*line 2, in f[\s\S]*ZeroDivisionError/);
    const late = await cellar(["exec", "--timeout", "0.5", "-c", "while True: pass"]);
    expect(late.code).toBe(124);
    expect(late.stderr).toContain("time limit of 0.5 s");
    const big = await cellar(["exec", "--memory", "0.25GB", "-c", "b = bytearray(10**9)"]);
    expect(big.code).toBe(137);
    expect(big.stderr).toMatch(/hint: the memory limit of the session is 256 MB: .*--memory/);
    expect((await cellar(["exec", "-c", "import ctypes; ctypes.string_at(0)"])).code).toBe(134);
  });

  it("gives the whole result as one JSON object", async () => {
    const source = `import sys\nprint(1)\nprint(2, file=sys.stderr)\n${HOSTILE_CODE}\n3`;
    const { code, stdout, stderr } = await cellar(["exec", "--json", "-c", source]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      number: 1,
      status: "ok",
      stdout: `1\n${HOSTILE_TEXT}`,
      stderr: "2\n",
      result: { "text/plain": "3" },
      error: null,
      isolation: { level: expect.stringMatching(/^L3/) },
    });
    expect(stdout).not.toContain("\u009b");
    expect(stdout).not.toContain("\u001b");
  });

  it("carries binary displays in JSON as base64", async () => {
    const source = [
      "class Dot:",
      "    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n' + b'dot'",
      "display(Dot())",
    ].join("\n");
    const { stdout } = await cellar(["exec", "--json", "-c", source]);
    const found = JSON.parse(stdout).outputs.find(
      ({ type }: { type: string }) => type === "display",
    );
    const bytes = Buffer.from(found.binary["image/png"], "base64");
    expect(bytes.toString("latin1")).toBe("\u0089PNG\r\n\u001a\ndot");
    const images = join(folder, "images");
    const saved = await cellar(["exec", "--images", images, "-c", source]);
    expect(saved.stderr).toContain(join(images, "image-1.png"));
  });

  it("leaves hostile output as it is for programs", async () => {
    expect((await cellar(["exec", "-c", HOSTILE_CODE])).stdout).toBe(HOSTILE_TEXT);
  });

  it("shows hostile output escaped on a terminal, and colours as they are", async () => {
    using screen = new Screen(["exec", "-c", `${HOSTILE_CODE}\nprint('\\x1b[31mred')`]);
    expect(await screen.ended()).toBe(0);
    expect(screen.text).toContain("\\x1b]52;c;cm0gLXJmIC8=\\x07\\x1b[2J\\x1b]0;title\\x07\\x9b31m");
    expect(screen.text).toContain("\u001b[31mred");
    for (const sequence of ["\u001b]", "\u001b[2J", "\u009b", "\u0007"]) {
      expect(screen.text).not.toContain(sequence);
    }
  });

  it("hands over mounts and variables that are named, and no others", async () => {
    mkdirSync(join(folder, "data"));
    file("data/in.txt", "hello");
    const source = [
      "import os",
      "print(open('/data/in.txt').read(), os.environ['A'], os.environ['CELLAR_TEST_B'])",
      "print('CELLAR_TEST_C' in os.environ)",
      "open('/data/out.txt', 'w')",
    ].join("\n");
    const { code, stdout, stderr } = await cellar(
      [
        "exec",
        "--mount",
        `${folder}/data:/data`,
        "--env",
        "A=x=y",
        "--env",
        "CELLAR_TEST_B",
        "-c",
        source,
      ],
      { env: { CELLAR_TEST_B: "mine", CELLAR_TEST_C: "secret" } },
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: "hello x=y mine\nFalse\n" });
    expect(stderr).toMatch(/Read-only file system/);
  });

  it("keeps a policy when it is told to", async () => {
    const code = "eval('6 * 7')";
    expect((await cellar(["exec", "-c", code])).stdout).toBe("42\n");
    const refused = await cellar(["exec", "--policy", "ast", "-c", code]);
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("[call.eval]");
  });

  it("says what it left out", async () => {
    const { code, stdout, stderr } = await cellar([
      "exec",
      "--max-output",
      "1000",
      "-c",
      "print('x' * 10**6)",
    ]);
    expect(code).toBe(0);
    expect(stdout.length).toBeLessThan(3000);
    expect(stderr).toMatch(/\d+ bytes of stdout were left out/);
  });

  it("ends when the reader of its output goes away", async () => {
    const child = spawn(process.execPath, [MAIN, "exec", "-c", "while True: print(1)"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    await once(child.stdout, "data");
    child.stdout.destroy();
    const [code] = await once(child, "exit");
    expect(code).toBe(141);
  });

  it("ends when it is asked to", async () => {
    const child = spawn(process.execPath, [MAIN, "exec", "-c", "while True: print(1)"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    await once(child.stdout, "data");
    child.stdout.resume();
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    expect(code).toBe(143);
  });

  it("is cancelled by Ctrl-C, also when the code will not hear of it", async () => {
    const source = [
      "import time",
      "while True:",
      "    try: print('on'); time.sleep(60)",
      "    except KeyboardInterrupt: print('no')",
    ].join("\n");
    using screen = new Screen(["exec", "-c", source]);
    await screen.sees(/on\r\n/);
    screen.type("\u0003");
    await screen.sees(/no\r\n/);
    await screen.sees(/cancelled/);
    expect(await screen.ended()).toBe(130);
  });
});
