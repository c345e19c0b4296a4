import { describe, expect, it } from "vitest";
import { CellCutter, isComplete } from "./input-rule.js";

const COMPLETE = [
  "x = 1",
  "print('a:')",
  "x = {'a': 1}",
  "x: int = 3",
  "s = 'it\\'s'",
  "s = 'never closed",
  's = """one\ntwo"""',
  "f(\n  1,\n)",
  "x = 1 + \\\n  2",
  "x = (1]",
  "# only a comment (",
  "s = '#('  # (",
  "def f():\n    return 1\n",
  "if x:\n    a\nelse:\n    b\n   ",
  "def f():\n    return 1\nf()",
  "format(3)",
  "ifx = 1",
  "with_ = 1",
  "!ls -l (",
  "%timeit x",
  "f?",
  "%%time\nx = (\n",
  "await f()",
  "r'\\'",
];

const INCOMPLETE = [
  "def f():",
  "def f():\n    return 1",
  "if x: y = 1",
  "for x in y:  # why",
  "@cached",
  "@cached\ndef f(): pass",
  "async def f():",
  "class A: pass",
  "try:\n    a\nexcept E:",
  "x = (1,",
  "x = [\n\n1,",
  "x = {'a': [1, (2",
  's = """one',
  "s = '''it's\n\n",
  "x = 1 + \\",
  "s = 'continued \\",
  "x = 1\nif x:",
  "while True: pass",
  "%%time\nx = 1",
  "!ls \\",
];

describe("the rule when input is whole", () => {
  it.each(COMPLETE)("runs %j", (text) => {
    expect(isComplete(text)).toBe(true);
  });

  it.each(INCOMPLETE)("waits after %j", (text) => {
    expect(isComplete(text)).toBe(false);
  });

  it("runs every waiting block after a blank line, unless something is open", () => {
    const open = INCOMPLETE.filter((text) => !isComplete(`${text}\n`));
    expect(open).toEqual([
      "x = (1,",
      "x = [\n\n1,",
      "x = {'a': [1, (2",
      's = """one',
      "s = '''it's\n\n",
      "x = 1 + \\",
    ]);
  });

  it("reads a long input in one pass", () => {
    const long = `x = [\n${"  1,\n".repeat(200_000)}]`;
    expect(isComplete(long)).toBe(true);
  });
});

describe("cells in a pipe", () => {
  const cut = (text: string): string[] => {
    const cutter = new CellCutter();
    const cells = text.split("\n").map((line) => cutter.feed(line));
    return [...cells, cutter.flush()].filter((cell) => cell !== undefined);
  };

  it("end at blank lines, but not inside brackets and strings", () => {
    expect(cut("x = 1\nx + 1\n\n\ny = (1,\n\n2)\n\ns = '''a\n\nb'''")).toEqual([
      "x = 1\nx + 1",
      "y = (1,\n\n2)",
      "s = '''a\n\nb'''",
    ]);
  });

  it("end at markers alone once there is one", () => {
    const text = "#%%\ndef f():\n    a = 1\n\n    return a\n# %% next\nf()\n\nf()";
    expect(cut(text)).toEqual(["def f():\n    a = 1\n\n    return a", "f()\n\nf()"]);
  });
});
