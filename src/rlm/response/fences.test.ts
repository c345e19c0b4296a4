import { describe, expect, it } from "vitest";
import { fencesIn } from "./fences.js";

const codeBlocks = (response: string) =>
  fencesIn(response)
    .filter(({ isCode, code }) => isCode && code.trim() !== "")
    .map(({ code, language, line, isClosed }) => ({ code, language, line, isClosed }));
const codes = (text: string) => codeBlocks(text).map(({ code }) => code);
const text = (...lines: string[]) => lines.join("\n");

describe("code in a response", () => {
  it.each([
    ["repl", "```repl\nprint(1)\n```"],
    ["python", "```python\nprint(1)\n```"],
    ["py", "```py\nprint(1)\n```"],
    ["a bare fence", "```\nprint(1)\n```"],
    ["tildes", "~~~\nprint(1)\n~~~"],
    ["tildes with a language", "~~~python\nprint(1)\n~~~"],
    ["capitals", "```Python\nprint(1)\n```"],
    ["a version", "```python3.12\nprint(1)\n```"],
    ["attributes", '```python title="first.py"\nprint(1)\n```'],
    ["braces", "```{python}\nprint(1)\n```"],
    ["spaces around", "```  repl  \nprint(1)\n```   "],
    ["CRLF", "Look:\r\n```repl\r\nprint(1)\r\n```\r\nDone.\r\n"],
    ["a lone CR", "```repl\rprint(1)\r```"],
    ["a longer closing fence", "```repl\nprint(1)\n`````"],
    ["no closing fence", "```repl\nprint(1)"],
    ["words behind the closing fence", "```repl\nprint(1)\n``` and this is why"],
    ["a list item", "1. First\n\n   ```python\n   print(1)\n   ```"],
    ["the line of a list marker", "- ```python\n  print(1)\n  ```"],
    ["a tab before it", "\t```python\n\tprint(1)\n\t```"],
    ["code that is not indented with its fence", "   ```python\nprint(1)\n   ```"],
  ])("is found: %s", (_, response) => {
    expect(codes(response)).toEqual(["print(1)"]);
  });

  it.each([
    ["prose", "I would print the first lines of the context."],
    ["nothing", ""],
    ["inline code", "Call `print(1)` or ```print(1)``` and see."],
    ["inline fences at a line's start", "```print(1)``` shows one\n```repl``` is a fence"],
    ["json", '```json\n{"a": 1}\n```'],
    ["text", "```text\nprint(1)\n```"],
    ["bash", "```bash\nls\n```"],
    ["a transcript", "```pycon\n>>> print(1)\n```"],
    ["a language that never closed", "```json\n{}"],
    ["a quote", "> ```repl\n> print(1)\n> ```"],
    ["an empty block", "```repl\n\n```"],
    ["a stray fence at the end", "Done.\n```"],
    ["two backticks", "``\nprint(1)\n``"],
    ["code shown in a document", "```markdown\n# Title\n```python\nprint(1)\n```\nend\n```\nBye."],
    ["code shown in a longer fence", "````text\n```python\nprint(1)\n```\nprint(2)\n````\nBye."],
    ["code shown in tildes", "~~~text\n```python\nprint(1)\n```\n~~~"],
  ])("is not there: %s", (_, response) => {
    expect(codes(response)).toEqual([]);
  });

  it("is run in order, whatever the fences are", () => {
    const response = text(
      "First:",
      "```repl",
      "a = 1",
      "```",
      "```json",
      '{"b": 2}',
      "```",
      "~~~py",
      "c = 3",
      "~~~",
      "```",
      "d = 4",
    );
    expect(codeBlocks(response)).toEqual([
      { code: "a = 1", language: "repl", line: 2, isClosed: true },
      { code: "c = 3", language: "py", line: 8, isClosed: true },
      { code: "d = 4", language: "", line: 11, isClosed: false },
    ]);
  });

  it("begins anew where a block was never closed", () => {
    const response = "```repl\na = 1\n```python\nb = 2\n```json\n{}\n```\nc\n";
    expect(codeBlocks(response)).toEqual([
      { code: "a = 1", language: "repl", line: 1, isClosed: false },
      { code: "b = 2", language: "python", line: 3, isClosed: false },
    ]);
  });
});

describe("a fence within a string", () => {
  it.each([
    ["double quotes", ['page = """', "# Title", "```", "ls", "```", '"""', "print(page)"]],
    ["single quotes", ["page = '''", "```python", "print(2)", "```", "'''", "print(page)"]],
    ["an odd number", ['page = """', "```", '"""']],
    ["a raw string", ['page = r"""\\', "```", '\\"""', "```", '"""']],
    ["the other quotes in it", ['page = """', "'''", "```", "'''", '"""']],
    ["quotes behind a comment sign", ["# it's fine", '# """', 'page = """', "```", '"""']],
    ["quotes within a string", ['a = \'"""\'', 'b = """', "```", '"""']],
    ["a line that goes on", ["a = 'one \\", "```", "two'"]],
    ["an f-string", ['page = f"""{a}', "```", '{b["c"]}"""']],
    ["quotes that end where they begin", ['a = """"""', 'b = """x"""', 'c = """', "```", '"""']],
  ])("is text: %s", (_, lines) => {
    const response = `Now:\n\`\`\`repl\n${lines.join("\n")}\n\`\`\`\nThen I look at it.`;
    expect(codeBlocks(response)).toEqual([
      { code: lines.join("\n"), language: "repl", line: 2, isClosed: true },
    ]);
  });

  it.each([
    ["an apostrophe in a comment", ["# don't", "a = 1"]],
    ["a string that never ends", ["a = 'oops", "b = 2"]],
    ["an escaped quote", ["a = '\\''", "b = 2"]],
    ["an empty string", ["a = ''", 'b = ""']],
    ["a backslash at the end of a string", ["a = '\\\\'", "b = 2"]],
  ])("is over with its line: %s", (_, lines) => {
    const response = `\`\`\`repl\n${lines.join("\n")}\n\`\`\`\nDone.`;
    expect(codes(response)).toEqual([lines.join("\n")]);
  });

  it("keeps code that is only quoted from being run, also when the response was cut off", () => {
    const response = text("```repl", 'page = """', "```python", "delete()", "```", "and then");
    expect(codeBlocks(response)).toEqual([
      {
        code: text('page = """', "```python", "delete()", "```", "and then"),
        language: "repl",
        line: 1,
        isClosed: false,
      },
    ]);
  });
});

describe("indentation", () => {
  it("of the fence is taken away, that of the code stays", () => {
    const response = "  - then\n\n    ```python\n    if a:\n        b()\n\n    c()\n    ```";
    expect(codes(response)).toEqual(["if a:\n    b()\n\nc()"]);
  });

  it("is taken from all lines alike", () => {
    expect(codes("   ```python\nif a:\n  b()\n   ```")).toEqual(["if a:\n  b()"]);
  });

  it("of a string's lines does not count", () => {
    const response = '  ```python\n  a = """\nleft\n    right"""\n  ```';
    expect(codes(response)).toEqual(['a = """\nleft\n  right"""']);
  });
});

describe("all that is fenced", () => {
  it("tells where it is", () => {
    const fences = fencesIn("a\n```json\n{}\n```\nb\n```\nc");
    expect(fences).toEqual([
      { code: "{}", language: "json", line: 2, end: 4, isClosed: true, isCode: false },
      { code: "c", language: "", line: 6, end: 7, isClosed: false, isCode: true },
    ]);
  });

  it.each([
    ["fences", "```\n"],
    ["blocks", '```\n\\"""\n```\n'],
    ["documents", "```md\n```a\n```\n"],
    ["quotes", "```\n'''\"\"\"\n"],
    ["spaces", " "],
    ["backticks", "`"],
  ])("is read in one go: many %s", (_, piece) => {
    const response = piece.repeat(Math.ceil(1_000_000 / piece.length));
    const fences = fencesIn(response);
    const ends = fences.map(({ end }) => end);
    expect(ends).toEqual([...ends].sort((one, other) => one - other));
  });
});
