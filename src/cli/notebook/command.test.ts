import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  cellar,
  MAIN,
  type RunOptions,
  Screen,
  sandboxAbsence,
} from "../../../test/support/command-line.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

const notebook = (command: string, args: readonly string[], options?: RunOptions) =>
  cellar(["notebook", command, ...args, "--dir", join(folder, "books")], options);

const run = (code: string, ...more: string[]) => notebook("run", ["book", "-c", code, ...more]);

const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

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
      source: ["x = 1\n", "print('<x>')"],
      execution_count: 7,
      outputs: [{ output_type: "stream", name: "stdout", text: ["<x>\n", "\u001b]0;title\u0007"] }],
    },
  ],
});

describe("cellar notebook, where no Python is needed", () => {
  it("imports, lists, shows and exports", async () => {
    expect(await notebook("list", [])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^no notebooks/),
    });
    const path = file("a.ipynb", JUPYTER);
    expect(await notebook("import", [path, "book"])).toMatchObject({ code: 0, stderr: "" });
    expect((await notebook("list", [])).stdout).toMatch(/^me\/book {2}2 cells, since \d{4}-/);
    const shown = await notebook("show", ["book"]);
    expect(shown.stdout).toMatch(
      /^cell \[ \] · IDLE · id \S+\n> # %% \[markdown\]\n> # # Title\n\ncell 7 · COM/,
    );
    expect(shown.stdout).toContain("> print('<x>')\n<x>\n");
    const one = await notebook("show", ["book", "7", "--json"]);
    expect(JSON.parse(one.stdout)).toMatchObject({ number: 7, state: "COMPLETED" });
    const copy = join(folder, "copy.ipynb");
    expect(await notebook("export", ["book", "--to", copy])).toMatchObject({ code: 0, stdout: "" });
    expect(JSON.parse(readFileSync(copy, "utf8")).cells[0]).toMatchObject({
      cell_type: "markdown",
      source: ["# Title"],
    });
    const page = await notebook("export", ["book", "--to", "-", "--format", "html"]);
    expect(page.stdout).toMatch(/^<!doctype html>[\s\S]*&lt;x&gt;[\s\S]*<\/html>\n$/);
  });

  it("shows hostile output escaped on a terminal", async () => {
    await notebook("import", [file("a.ipynb", JUPYTER), "book"]);
    const args = ["notebook", "show", "book", "--dir", join(folder, "books")];
    using screen = new Screen(args);
    expect(await screen.ended()).toBe(0);
    expect(screen.text).toContain("\\x1b]0;title\\x07");
    expect(screen.text).not.toContain("\u001b]");
  });

  it("refuses what is not there, cannot be named or read, with code 2 and a remedy", async () => {
    await notebook("import", [file("a.ipynb", JUPYTER), "book"]);
    const cases: [string, string[], RegExp][] = [
      ["show", ["absent"], /no notebook me\/absent\n {2}fix: .*list/],
      ["show", ["book", "9"], /no cell 9\n {2}fix: .*there is 7/],
      ["show", ["../book"], /name of the session/],
      ["show", ["book", "--user", ".."], /name of the user/],
      ["export", ["book", "--to", "x.pdf"], /format of x\.pdf[\s\S]*--format/],
      ["import", [join(folder, "absent.ipynb"), "new"], /cannot be read/],
      ["import", [file("b.ipynb", '{"nbformat": 3}'), "new"], /nbformat 3[\s\S]*nbconvert/],
      ["run", ["book"], /nothing to run/],
      ["run", ["book", "-c", "1", "--backend", "pyodide"], /do not run on pyodide/],
    ];
    for (const [command, args, reason] of cases) {
      const { code, stdout, stderr } = await notebook(command, args);
      expect({ command, args, code, stdout }).toEqual({ command, args, code: 2, stdout: "" });
      expect(stderr).toMatch(reason);
    }
    const list = await notebook("list", ["--json"]);
    expect(JSON.parse(list.stdout).notebooks).toHaveLength(1);
  });

  it("does not import over a notebook that is there", async () => {
    const path = file("a.ipynb", JUPYTER);
    await notebook("import", [path, "book"]);
    const again = await notebook("import", [path, "book", "--json"]);
    expect(again.code).toBe(2);
    expect(JSON.parse(again.stdout).error.code).toBe("CONFLICT");
  });
});

describe("cellar notebook, where something cannot be used", () => {
  it("says what to do", async () => {
    const fix = expect.stringMatching(/^cellar: .*\n {2}fix: /);
    const imported = await notebook("import", [file("a.ipynb", "no JSON"), "book"]);
    expect(imported).toMatchObject({ code: 2, stderr: fix });
    const absent = await notebook("import", [join(folder, "absent.ipynb"), "book"]);
    expect(absent).toMatchObject({ code: 2, stderr: fix });
    await notebook("import", [file("b.ipynb", JUPYTER), "book"]);
    const unwritable = await notebook("export", ["book", "--to", join(folder, "no", "a.ipynb")]);
    expect(unwritable).toMatchObject({ code: 2, stderr: fix });
    const noFolder = ["notebook", "list", "--dir", file("books-file", "")];
    expect(await cellar(noFolder)).toMatchObject({ code: 2, stderr: fix });
  });
});

describe("cellar notebook", () => {
  let absence: string | undefined;
  beforeAll(async () => {
    absence = await sandboxAbsence();
  });
  beforeEach((context) => {
    if (absence !== undefined) context.skip(`no sandbox: ${absence}`);
  });

  it("keeps variables from one command to the next", async () => {
    expect(await run("x = 20\nprint('out')")).toEqual({ code: 0, stdout: "out\n", stderr: "" });
    expect(await run("x + 22")).toEqual({ code: 0, stdout: "42\n", stderr: "" });
    expect((await run("x", "--quiet")).stdout).toBe("");
    const cells = [file("a.py", "y = 1"), file("b.py", "1/0"), file("c.py", "y = 2")];
    const failed = await notebook("run", ["book", ...cells]);
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toMatch(/^Traceback[\s\S]*ZeroDivisionError: division by zero\n$/);
    expect((await notebook("run", ["book", "-"], { input: "print(x, y)" })).stdout).toBe("20 1\n");
    const { stdout } = await notebook("show", ["book", "--json"]);
    expect(JSON.parse(stdout).cells.map((cell: { state: string }) => cell.state)).toEqual([
      ...["COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED", "ERROR", "COMPLETED"],
    ]);
  });

  it("gives the cells and the state as one JSON object", async () => {
    const { code, stdout, stderr } = await run(
      "import sys; x = 1; open('f.txt', 'w'); x",
      "--json",
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      cells: [{ number: 1, state: "COMPLETED", executionCount: 1, files: { created: ["f.txt"] } }],
      replayed: [],
      info: { user: "me", session: "book" },
    });
  });

  it("tells time, memory and crashes apart by the exit code", async () => {
    expect((await run("while True: pass", "--timeout", "0.5")).code).toBe(124);
    expect((await run("b = bytearray(10**9)", "--memory", "256")).code).toBe(137);
    expect((await run("import ctypes; ctypes.string_at(0)")).code).toBe(134);
    const { stdout } = await notebook("show", ["book", "--json"]);
    expect(JSON.parse(stdout).cells.map((cell: { state: string }) => cell.state)).toEqual([
      ...["TIMEOUT", "OOM", "CRASHED"],
    ]);
  });

  it("leaves with what sys.exit was called with", async () => {
    expect((await run("import sys; sys.exit(3)")).code).toBe(3);
    expect((await run("sys.exit(0)")).code).toBe(0);
    expect((await run("sys.exit(4)", "--json")).code).toBe(4);
    expect((await run("1")).code).toBe(0);
  });

  it("names what can be undone where the wanted state is not kept", async () => {
    const env = { CELLAR_KEEP_SNAPSHOTS: "1" };
    for (const value of [1, 2, 3]) await notebook("run", ["book", "-c", `x = ${value}`], { env });
    const { code, stderr } = await notebook("undo", ["book"]);
    expect(code).toBe(2);
    expect(stderr).toContain("fix: Go back by 3: cellar notebook undo book 3");
    expect((await notebook("undo", ["book", "3"])).stdout).toBe("undone: cells 1, 2, 3\n");
  });

  it("says what was not saved and what is missing, and replays it", async () => {
    const env = { CELLAR_STATE_MAX_SIZE_MB: "1" };
    const small = (...args: string[]) => notebook("run", ["book", ...args], { env });
    await small("-c", "x = 1");
    const large = await small(
      "-c",
      "import os; big = os.urandom(3_000_000); file = open('f', 'w')",
    );
    expect(large.code).toBe(0);
    expect(large.stderr).toMatch(/^cellar: the variables are not saved: .*\n/);
    const after = await small("-c", "print(x); big");
    expect(after).toMatchObject({ code: 1, stdout: "1\n" });
    expect(after.stderr).toMatch(/NameError[\s\S]*the variables are those after cell 1/);
    expect(after.stderr).toMatch(/cell 2 .*missing: --replay/);
    const again = await notebook("run", ["book", "--replay", "-c", "len(big)"]);
    expect(again).toMatchObject({ code: 0, stdout: "3000000\n" });
    expect(again.stderr).toMatch(/snapshot after cell \d; cell 2 ran after it\n {2}fix: --replay/);
    expect(again.stderr).toContain("ran again, as cell 4: COMPLETED");
    const lost = await run("file");
    expect(lost.stderr).toMatch(/hint: .*file/);
  });

  it("tells at the run what cannot be kept, once, and in the JSON", async () => {
    const made = await run("x = (i for i in range(3)); y = 1");
    expect(made).toMatchObject({ code: 0, stdout: "" });
    expect(made.stderr).toMatch(/^cellar: x cannot be kept: a generator.*\n {2}fix: .+\n$/);
    const next = await run("y");
    expect(next.stderr).toMatch(/lost x: a generator/);
    expect(next.stderr).not.toContain("cannot be kept");
    const crash = await run("import os; os._exit(1)");
    expect(crash.stderr).not.toContain("cannot be kept");
    const json = await run("z = (i for i in range(3))", "--json");
    expect(json).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(json.stdout).unkept).toMatchObject([
      { name: "z", reason: expect.stringContaining("a generator") },
    ]);
  });

  it("undoes and forks", async () => {
    await run("x = 1");
    await run("x = 2");
    expect(await notebook("undo", ["book"])).toEqual({
      code: 0,
      stdout: "undone: cell 2\n",
      stderr: "",
    });
    expect((await run("x")).stdout).toBe("1\n");
    expect((await notebook("fork", ["book", "twin"])).stdout).toBe(
      "me/twin continues from me/book\n",
    );
    await run("x = 5");
    expect((await notebook("run", ["twin", "-c", "x"])).stdout).toBe("1\n");
    expect((await notebook("undo", ["absent"])).code).toBe(2);
    expect((await notebook("fork", ["book", "twin"])).code).toBe(2);
    expect((await notebook("undo", ["book", "99"])).code).toBe(2);
  });

  it("exports what ran, images included", async () => {
    const source = [
      "class Dot:",
      "    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n' + b'dot'",
      "display(Dot())",
    ].join("\n");
    const images = join(folder, "images");
    const shown = await run(source, "--images", images);
    expect(shown.stderr).toContain(join(images, "image-1.png"));
    const copy = join(folder, "copy.ipynb");
    expect((await notebook("export", ["book", "--to", copy])).code).toBe(0);
    const document = JSON.parse(readFileSync(copy, "utf8"));
    expect(document.metadata.language_info.version).toMatch(/^3\.\d+\.\d+/);
    const png = document.cells[0].outputs[0].data["image/png"];
    expect(Buffer.from(png, "base64").toString("latin1")).toContain("dot");
  });

  it("tells who has it open, and takes it over when asked", async () => {
    const args = ["notebook", "run", "book", "--dir", join(folder, "books"), "-c"];
    const code = "import time; print('on', flush=True)\nwhile True: time.sleep(0.1)";
    const holder = spawn(process.execPath, [MAIN, ...args, code, "--timeout", "100"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    try {
      await once(holder.stdout, "data");
      const refused = await run("1");
      expect(refused.code).toBe(125);
      expect(refused.stderr).toContain(`process ${holder.pid}`);
      expect(refused.stderr).toContain("--takeover");
      expect((await notebook("list", [])).stdout).toContain(`open in process ${holder.pid}`);
      expect(await run("6 * 7", "--takeover")).toMatchObject({ code: 0, stdout: "42\n" });
    } finally {
      holder.kill("SIGKILL");
    }
  });
});
