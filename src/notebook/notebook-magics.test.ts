import { describe, expect, it } from "vitest";
import { NotebookFixture, shown } from "../../test/support/notebook/notebook-fixture.js";

const code = (source: string) => ({ cell_type: "code", metadata: {}, outputs: [], source });
const document = (...sources: string[]) =>
  JSON.stringify({ cells: sources.map(code), metadata: {}, nbformat: 4, nbformat_minor: 2 });

describe("magics in the cells of a notebook", () => {
  const fixture = new NotebookFixture();

  it("work as they are written", async () => {
    const nb = await fixture.open();
    await nb.putFile(
      "Utils.ipynb",
      document("%time total = sum(range(3)) # three", "!echo ran\ntotal"),
    );
    await nb.putFile("moving.py", "def answer(): return 1\n");
    await nb.putFile("script.py", "import sys\nargs = sys.argv[1:]\nprint('ran', __name__)\n");
    const cases = [
      ["%run Utils.ipynb\ntotal", /^CPU times: .*\nWall time: .*\nran\n3$/],
      ["%run script.py a 'b c'\nargs", /^ran __main__\n\['a', 'b c'\]$/],
      ["for n in range(2):\n    %time n # indented", /^(CPU times: .*\nWall time: .*\n){2}$/],
      [
        "%timeit -n 2 -r 3 sum([1]) # c",
        /per loop \(mean ± std\. dev\. of 3 runs, 2 loops each\)\n$/,
      ],
      ["%%bash --out found\necho inside; echo wrong >&2", /^wrong\n$/],
      ["found", /^'inside\\n'$/],
      ["!echo one; echo two >&2; echo three", /^one\ntwo\nthree\n$/],
      ["%cd /tmp\n%cd -", /^\/tmp\n\/workspace\n$/],
      ["ls *.ipynb", /^Utils\.ipynb\n$/],
      ["%load_ext autoreload\n%autoreload 2", /^$/],
      ["import sys\nsys.path.insert(0, '/workspace')\nfrom moving import answer\nanswer()", /^1$/],
    ] as const;
    for (const [source, expected] of cases) {
      const cell = await nb.run(source);
      expect([source, cell.state, shown(cell)]).toEqual([
        source,
        "COMPLETED",
        expect.stringMatching(expected),
      ]);
    }
    await nb.putFile("moving.py", "def answer(): return 'of another length'\n");
    expect(shown(await nb.run("answer()"))).toBe("'of another length'");
  });

  it("that are not there are told on stderr, and alone there in a notebook file", async () => {
    const nb = await fixture.open();
    const cell = await nb.run("print('before')\n%no_such_magic");
    const message = "Line magic function `%no_such_magic` not found.";
    expect(cell).toMatchObject({
      state: "ERROR",
      outputs: [
        { stream: "stdout", text: "before\n" },
        { stream: "stderr", text: `UsageError: ${message}\n` },
        { type: "ERROR", name: "UsageError", message },
      ],
    });
    const { cells } = JSON.parse(await nb.exportIpynb());
    expect(cells[0].outputs.map((one: { name: string }) => one.name)).toEqual(["stdout", "stderr"]);
  });
});
