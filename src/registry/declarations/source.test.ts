import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { isCellarError } from "../../errors.js";
import { declarationSource, readDeclarations } from "./source.js";

const folder = mkdtempSync(join(tmpdir(), "cellar-declarations-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

writeFileSync(
  join(folder, "numbers.py"),
  "from .words import say\n\ndef add(a, b=1):\n    return a + b\n",
);
writeFileSync(join(folder, "words.py"), "def say(text):\n    return text\n");

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function problemsOf(path: string): Promise<readonly string[]> {
  const error: unknown = await readDeclarations(path).catch((error: unknown) => error);
  if (!isCellarError(error, "INVALID_CONFIG"))
    throw new Error("no INVALID_CONFIG", { cause: error });
  const { problems } = error.details;
  return Array.isArray(problems) ? problems.map(String) : [error.message];
}

const ADD = `
tools:
  add:
    category: maths
    description: Adds two numbers.
    parameters:
      a: {type: number, required: true, description: the first}
      b: {type: number, default: 1}
    returns: the sum
    implementation: {type: python, file: numbers.py, function: add}
    examples: ["add(1, b=2)"]
    timeout: 5
`;

describe("a file of declarations", () => {
  it("gives tools with a JSON Schema, and what they may do", async () => {
    await using source = declarationSource(write("add.yaml", ADD), { open: refuse });
    const [tool] = await source.tools();
    expect(tool).toMatchObject({
      name: "add",
      category: "maths",
      description: "Adds two numbers.",
      returns: "the sum",
      parameters: {
        type: "object",
        properties: {
          a: { type: "number", description: "the first" },
          b: { type: "number", default: 1 },
        },
        required: ["a"],
        additionalProperties: false,
      },
      permissions: ["compute"],
      allowedCallers: ["cell", "chain", "host"],
      isReadOnly: true,
      isDestructive: false,
      isTable: false,
      limits: { timeoutMs: 5000 },
    });
  });

  it("takes JSON as well", async () => {
    const json = {
      tools: {
        put: {
          description: "Puts.",
          parameters: { path: { type: "string", required: true } },
          implementation: { type: "builtin", name: "put" },
          permissions: ["filesystem"],
          side_effects: { writes: ["file:{path}"] },
          destructive: true,
          timeout: "2m",
        },
      },
    };
    const { tools } = await readDeclarations(write("put.json", JSON.stringify(json, null, "\t")));
    expect(tools[0]?.declaration).toMatchObject({
      isReadOnly: false,
      isDestructive: true,
      allowedCallers: ["cell", "host"],
      effects: { writes: ["file:{path}"] },
      limits: { timeoutMs: 120_000 },
    });
  });

  it("takes what touches files, a shell or the network for a change unless it says otherwise", async () => {
    const tool = (more: string) =>
      `{description: d, implementation: {type: builtin, name: b}, ${more}}`;
    const text = `tools:\n  one: ${tool("permissions: [network]")}\n  two: ${tool("permissions: [network], side_effects: false")}\n`;
    const { tools } = await readDeclarations(write("effects.yaml", text));
    expect(tools.map(({ declaration }) => declaration.isReadOnly)).toEqual([false, true]);
  });

  it("reports every problem at once, with file, line and field", async () => {
    const path = write(
      "wrong.yaml",
      [
        "tools:",
        "  add:",
        "    descripton: Adds.",
        "    parameters:",
        "      a: {type: numbr}",
        "      b:",
        "        type: integer",
        "        required: true",
        "        default: one",
        "      c: {type: string, enum: [x, 3], default: y}",
        "    implementation: {type: pyton}",
        "    permissions: [compute, disk]",
        "    timeout: soon",
        "  class:",
        "    description: d",
        "    implementation: {type: python, file: ../up.py, function: f, modul: x}",
        "  gone:",
        "    description: d",
        "    implementation: {type: python, file: gone.py, function: f}",
        "  lost:",
        "    description: d",
        "    implementation: {type: python, file: numbers.py, function: subtract}",
        "    destructive: true",
        "    side_effects: false",
        "  both:",
        "    description: 3",
        "    implementation: {type: python, file: numbers.py, function: divide}",
      ].join("\n"),
    );
    const problems = await problemsOf(path);
    const told = (line: number, text: string) =>
      expect(problems).toContainEqual(expect.stringMatching(`^wrong.yaml:${line}: .*${text}`));
    told(2, "tools.add.description is missing");
    told(3, "unknown field tools.add.descripton; did you mean description\\?");
    told(5, 'tools.add.parameters.a.type must be .*"string".*, not "numbr"');
    told(9, 'tools.add.parameters.b.default must be of type integer, not "one"');
    told(9, "tools.add.parameters.b is required, and has a default");
    told(10, "tools.add.parameters.c.enum: 3 is not of the type string");
    told(10, 'tools.add.parameters.c.default "y" is not among its enum');
    told(11, 'tools.add.implementation.type must be one of python, builtin, not "pyton"');
    told(12, 'tools.add.permissions.1 must be one of .*, not "disk"');
    told(13, "tools.add.timeout must be seconds, or a text such as");
    told(14, "tools.class must be the name of a Python function");
    told(16, "unknown field tools.class.implementation.modul");
    told(16, "tools.class.implementation.file must be the name of a .py file beside this one");
    told(19, "implementation.file gone.py cannot be read");
    told(22, "numbers.py has no function subtract");
    told(23, "tools.lost.destructive contradicts side_effects: false");
    told(26, "tools.both.description must be a text, not 3");
    told(27, "numbers.py has no function divide");
    expect(problems).toHaveLength(18);
  });

  it.each([
    [
      "a key twice",
      "tools:\n  a: {description: d}\n  a: {description: e}\n",
      /twice.yaml:3: .*unique/i,
    ],
    ["no YAML", "tools:\n  a: [1, 2\nb: 3\n", /twice.yaml:\d+: /],
    ["a tag of a language", "tools: !!js/function 'f'\n", /twice.yaml:1: .*tag/i],
    ["a list", "- one\n", /the file must be an object, not a list/],
    ["nothing", "", /twice.yaml.*the file must be an object, not null/],
    ["no tools", "tools: {}\n", /twice.yaml:1: tools is empty/],
    ["another field", "tool: {}\n", /unknown field tool; did you mean tools\?/],
  ])("refuses %s", async (_, text, message) => {
    expect((await problemsOf(write("twice.yaml", text))).join("\n")).toMatch(message);
  });

  it("refuses JSON with a fault or a key twice, with the line", async () => {
    expect(await problemsOf(write("bad.json", '{\n "tools": {,}\n}'))).toEqual([
      expect.stringMatching(/^bad.json:2: is not JSON/),
    ]);
    const twice = '{"tools": {\n"a": 1,\n"a": 2}}';
    expect((await problemsOf(write("bad.json", twice))).join()).toMatch(/bad.json:3: .*unique/i);
  });

  it("refuses aliases that unfold, deep nesting, and files that are too large or not there", async () => {
    const layers = Array.from({ length: 12 }, (_, index) =>
      index === 0
        ? 'a0: &a0 ["x", "x"]'
        : `a${index}: &a${index} [${Array(9).fill(`*a${index - 1}`)}]`,
    );
    const bomb = write("bomb.yaml", `${layers.join("\n")}\ntools: *a11\n`);
    expect((await problemsOf(bomb)).join()).toMatch(/alias/i);
    const deep = write("deep.yaml", `tools: ${"[".repeat(50_000)}`);
    expect((await problemsOf(deep)).join()).toMatch(/nested too deep/);
    const large = write("large.yaml", `tools: {} #${"x".repeat(1024 * 1024)}`);
    expect((await problemsOf(large)).join()).toMatch(/larger than 1 MB/);
    expect((await problemsOf(join(folder, "none.yaml"))).join()).toMatch(/cannot be read: ENOENT/);
  });

  it("has no way to the prototype of objects", async () => {
    const text = "tools:\n  __proto__: {description: d}\n";
    expect((await problemsOf(write("proto.yaml", text))).join()).toMatch(/tools.__proto__/);
    expect({}).not.toHaveProperty("description");
  });
});

async function refuse(): Promise<never> {
  throw new Error("no sandbox is needed here");
}

describe("the arguments of a call", () => {
  const signal = new AbortController().signal;
  const text = `
tools:
  echo:
    description: d
    parameters: {first: {type: string, required: true}, second: {type: integer, default: 7}, third: {type: string}}
    implementation: {type: builtin, name: echo}
  lost:
    description: d
    implementation: {type: builtin, name: toString}
`;

  it("get their defaults, and reach the host's function", async () => {
    const builtins = { echo: async ({ arguments: value }: { arguments: unknown }) => ({ value }) };
    await using source = declarationSource(write("echo.yaml", text), { open: refuse, builtins });
    const [echo] = await source.tools();
    const run = (given: Record<string, unknown>) => echo?.run({ arguments: given, signal });
    expect(await run({ first: "a" })).toEqual({ value: { first: "a", second: 7 } });
    expect(await run({ first: "a", second: undefined, third: "c" })).toEqual({
      value: { first: "a", second: 7, third: "c" },
    });
    await expect(run({})).rejects.toMatchObject({
      code: "BAD_ARGUMENTS",
      message: "echo needs the argument first",
    });
    await expect(run({ frist: 1 })).rejects.toMatchObject({
      code: "BAD_ARGUMENTS",
      message: "echo has no parameter frist; did you mean first?",
    });
  });

  it("go nowhere where the host has no such function, or the source is closed", async () => {
    const source = declarationSource(write("echo.yaml", text), { open: refuse });
    const [, lost] = await source.tools();
    const run = () => lost?.run({ arguments: {}, signal });
    await expect(run()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      isRetryable: false,
      message: "lost needs the host's function toString, which is not connected here",
    });
    await source[Symbol.asyncDispose]();
    await expect(run()).rejects.toMatchObject({ code: "UNAVAILABLE", message: /closed/ });
  });
});
