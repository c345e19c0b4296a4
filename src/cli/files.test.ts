import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { cellar, Screen, sandboxAbsence } from "../../test/support/command-line.js";

let folder = "";
let unavailable: string | undefined;
beforeAll(async () => {
  unavailable = await sandboxAbsence();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

const check = (name: string, body: () => Promise<void>) =>
  it(name, async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await body();
  });
const exec = (...args: string[]) =>
  cellar(["exec", "--backend", "native", ...args], { cwd: folder });
const notebook = (...args: string[]) =>
  cellar(["notebook", ...args, "--dir", join(folder, "books")], { cwd: folder });
const at = (...names: string[]) => join(folder, ...names);
const read = (...names: string[]) => readFileSync(at(...names), "utf8");

describe("cellar exec, with files", () => {
  check(
    "puts files in first and brings out what the cells made or changed, also after an error",
    async () => {
      for (const name of ["sales.csv", "kept.csv"]) writeFileSync(at(name), "a,b\n1,2\n");
      const code = [
        "import os",
        "rows = open('sales.csv').read()",
        "open('sales.csv', 'a').write('3,4\\n')",
        "os.makedirs('out/deep'); open('out/deep/x', 'wb').write(bytes(5000))",
        "os.symlink('/etc/passwd', 'link'); os.symlink('/etc', 'way')",
        "1 / 0",
      ].join("\n");
      writeFileSync(at("report.py"), code);
      const puts = ["--put", "sales.csv", "--put", "kept.csv"];
      const run = await exec(...puts, "--out", "results", "report.py");
      expect(run).toMatchObject({ code: 1, stdout: "" });
      expect(run.stderr).toMatch(/ZeroDivisionError[\s\S]*\nwrote 2 files to results \(5 KB\)\n$/);
      expect(readdirSync(at("results")).sort()).toEqual(["out", "sales.csv"]);
      expect(read("results", "sales.csv")).toBe("a,b\n1,2\n3,4\n");
      expect(readFileSync(at("results", "out", "deep", "x"))).toHaveLength(5000);
      expect(read("sales.csv")).toBe("a,b\n1,2\n");
      const again = await exec("--out", "results", "-c", "open('ran', 'w')");
      expect(again).toMatchObject({ code: 2, stdout: "" });
      expect(again.stderr).toMatch(/results is not empty[\s\S]*--force/);
      expect(readdirSync(at("results"))).not.toContain("ran");
    },
  );

  check(
    "writes over what is there with --force, through no link, and lists it in JSON",
    async () => {
      mkdirSync(at("results"));
      writeFileSync(at("mine"), "mine");
      mkdirSync(at("elsewhere"));
      symlinkSync(at("mine"), at("results", "x"));
      const args = ["--out", "results", "--force", "--json", "-c"];
      const { code, stdout } = await exec(...args, "open('x', 'w').write('new')");
      expect({ code, files: JSON.parse(stdout).files }).toEqual({
        code: 0,
        files: [{ path: "x", bytes: 3 }],
      });
      expect([read("results", "x"), read("mine")]).toEqual(["new", "mine"]);
      symlinkSync(at("elsewhere"), at("results", "d"));
      const through = await exec(
        ...args,
        "import os; os.mkdir('d'); open('d/x', 'w').write('planted')",
      );
      expect(through.code).toBe(125);
      expect(JSON.parse(through.stdout)).toMatchObject({
        status: "ok",
        filesError: { code: "IO_ERROR" },
      });
      expect(readdirSync(at("elsewhere"))).toEqual([]);
    },
  );

  check(
    "brings the others out where one cannot be read, and says which, also into a linked folder",
    async () => {
      const code = "import os\nfor n in 'ab': open(n, 'w').write(n)\nos.chmod('a', 0)";
      mkdirSync(at("results"));
      symlinkSync(at("results"), at("link"));
      const run = await exec("--out", "link", "-c", code);
      expect(run.code).toBe(125);
      expect(run.stderr).toMatch(/"a" is not accessible/);
      expect(readdirSync(at("results"))).toEqual(["b"]);
    },
  );

  check("brings no more out than the workspace may hold, however large files seem", async () => {
    const sparse = "for n in range(2):\n  with open(str(n), 'wb') as f: f.truncate(1_500_000)";
    const run = await cellar(
      ["exec", "--backend", "native", "--out", at("results"), "-c", sparse],
      {
        env: { CELLAR_LIMITS_WORKSPACE_MB: "2" },
      },
    );
    expect(run.code).toBe(2);
    expect(run.stderr).toMatch(/more than 2 MB[\s\S]*workspaceMb/);
  });
});

describe("cellar notebook, with files", () => {
  check("puts, lists, gets and removes", async () => {
    writeFileSync(at("june.csv"), "1,2\n");
    const put = await notebook("put", "book", "june.csv", "--as", "data/");
    expect(put).toMatchObject({ code: 0, stderr: "put data/june.csv (4 bytes) into book\n" });
    const ran = await notebook(
      "run",
      "book",
      "-c",
      "open('sum.txt', 'w').write(open('data/june.csv').read() * 2)",
    );
    expect(ran.code).toBe(0);
    const listed = await notebook("files", "book");
    expect(listed.stdout).toMatch(
      /^ *folder {2}\S+ \S+ {2}data\n *4 bytes .*data\/june\.csv\n *8 bytes .*sum\.txt\n$/,
    );
    const asJson = JSON.parse((await notebook("files", "book", "--json")).stdout);
    expect(asJson).toMatchObject({
      isCut: false,
      files: [{ path: "data" }, { bytes: 4 }, { kind: "file" }],
    });
    expect(await notebook("get", "book", "sum.txt")).toMatchObject({
      code: 0,
      stderr: "wrote sum.txt (8 bytes)\n",
    });
    const taken = await notebook("get", "book", "sum.txt", "data/june.csv", "--to", folder);
    expect(taken).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/already exists[\s\S]*--force/),
    });
    const forced = await notebook("get", "book", "sum.txt", "--force", "--json");
    expect(JSON.parse(forced.stdout)).toEqual({ wrote: [{ path: "sum.txt", bytes: 8 }] });
    expect((await notebook("get", "book", "data/june.csv", "--to", "-")).stdout).toBe("1,2\n");
    writeFileSync(at("controls"), "a\u001b]0;title\u0007b\n");
    await notebook("put", "book", "controls");
    using shown = new Screen([
      "notebook",
      "get",
      "book",
      "controls",
      "--to",
      "-",
      "--dir",
      at("books"),
    ]);
    await shown.sees(/a\\x1b\]0;title\\x07b/);
    const missing = await notebook("get", "book", "none");
    expect(missing).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("notebook files book"),
    });

    const unasked = await notebook("remove", "book");
    expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
    using screen = new Screen(["notebook", "remove", "book", "--dir", at("books")]);
    await screen.sees(/remove me\/book \(1 cells?\).*\[y\/N\]/);
    screen.type("n\r");
    await screen.sees(/was not removed/);
    expect((await notebook("list")).stdout).toContain("me/book");
    const gone = await notebook("remove", "book", "--yes", "--json");
    expect(JSON.parse(gone.stdout)).toEqual({ removed: "me/book" });
    expect((await notebook("list")).stdout).toMatch(/^no notebooks/);
    expect(readdirSync(at("books", "rooms"))).toEqual([]);
  });

  check("removes none that somebody has open, and says who", async () => {
    using holder = new Screen([
      "notebook",
      "run",
      "book",
      "-c",
      "import time; print('held'); time.sleep(60)",
      "--dir",
      at("books"),
    ]);
    await holder.sees(/\nheld|held\r/);
    const refused = await notebook("remove", "book", "--yes");
    expect(refused.code).toBe(125);
    expect(refused.stderr).toMatch(/me\/book is open in .*\d[\s\S]*end that process/);
    expect(existsSync(at("books"))).toBe(true);
    holder.type("\u0003");
    await holder.ended();
  });
});

describe("what commands write on the host", () => {
  it("never replaces a file unasked, and is told", async () => {
    const ipynb = JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [] });
    writeFileSync(at("a.ipynb"), ipynb);
    expect((await notebook("import", "a.ipynb", "book")).code).toBe(0);
    const first = await notebook("export", "book", "--to", "s.ipynb");
    expect(first).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^wrote s\.ipynb \(\d+ bytes\)\n/),
    });
    writeFileSync(at("s.ipynb"), "mine");
    const second = await notebook("export", "book", "--to", "s.ipynb");
    expect(second).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/s\.ipynb already exists\n.*--force/),
    });
    expect(read("s.ipynb")).toBe("mine");
    expect((await notebook("export", "book", "--to", "s.ipynb", "--force")).code).toBe(0);
    expect(read("s.ipynb")).not.toBe("mine");
    writeFileSync(at("run.cassette"), "mine");
    const model = ["--model", "m", "--base-url", "http://127.0.0.1:9/v1"];
    const recorded = await cellar(["rlm", "q", ...model, "--record", "run.cassette"], {
      cwd: folder,
    });
    expect(recorded).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/run\.cassette already exists\n.*--force/),
    });
    expect(read("run.cassette")).toBe("mine");
  });
});
