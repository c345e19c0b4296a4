import { type Block, blocksOf } from "./blocks.js";

export interface Program {
  readonly name: string;
  readonly page: string;
  readonly source: string;
  /** Needs a Python with pandas and matplotlib. */
  readonly needsLibraries: boolean;
  /** What the examples say that they print. */
  readonly claims: readonly string[];
  /** One of its cells raises on purpose. */
  readonly raises: boolean;
}

interface Help {
  readonly page: string;
  /** A part of the block that nothing else on its page has. */
  readonly block: string;
  readonly before?: string;
  readonly replace?: readonly [found: string, by: string];
  readonly needsLibraries?: true;
  readonly raises?: true;
  readonly because: string;
}

/** Where the examples send something; the tests have it at `ORIGIN`. */
const ADDRESSES = /http:\/\/127\.0\.0\.1:8080|https:\/\/(?:models\.)?example\.com/g;

/** What single examples need that their readers have, and a test has not. */
const HELP: readonly Help[] = [
  {
    page: "docs/rlm.md",
    block: 'model: "a-large-one"',
    replace: ['model: "a-large-one",', 'model: "a-large-one", baseUrl: "ORIGIN/v1",'],
    because: "without an address it asks the provider's own",
  },
  {
    page: "docs/tools.md",
    block: "generateText",
    before: [
      'import { createGateway } from "ai";',
      "Object.assign(globalThis, {",
      '  AI_SDK_DEFAULT_PROVIDER: createGateway({ baseURL: "ORIGIN/v1", apiKey: "none" }),',
      "});",
    ].join("\n"),
    because: "the name of a model alone is looked up at the provider's own gateway",
  },
  {
    page: "docs/notebooks.md",
    block: "matplotlib",
    needsLibraries: true,
    because: "it draws with matplotlib, as the page says before it",
  },
  {
    page: "docs/pyodide.md",
    block: 'packages: ["numpy"]',
    replace: ['packages: ["numpy"]', "packages: []"],
    because: "the package would come from the internet",
  },
  {
    page: "docs/policy.md",
    block: "import os",
    raises: true,
    because: "it shows a cell that is refused",
  },
  {
    page: "docs/library.md",
    block: "requests_that_is_not_there",
    raises: true,
    because: "it shows the hint of an error",
  },
];

const IMPORTS = 'import { AgentRepl, createSandbox, Notebook } from "cellar";';

/** What a page's examples without imports go on from. */
const BEFORE_FRAGMENTS: Readonly<
  Record<string, { readonly once?: string; readonly each?: string }>
> = {
  "docs/library.md": {
    each: 'await using sandbox = await createSandbox({ checkpoints: "always" });',
  },
  "docs/context.md": { each: "await using sandbox = await createSandbox();" },
  "docs/network.md": {
    each: 'await using nb = await Notebook.open({ user: "ann", session: "private", dir: "./books" });',
  },
  "docs/notebooks.md": {
    once: 'await using nb = await Notebook.open({ user: "ann", session: "sales", dir: "./books" });',
  },
};

/** What runs a page's cells, which stand where it says `CELL`. */
const AROUND_CELLS: Readonly<Record<string, string>> = {
  "docs/bridges.md": [
    "await using sandbox = await createSandbox({ onLLMQuery: async (prompt) => prompt });",
    "await sandbox.execute(\"prompts = ['one', 'two']\");",
    "await sandbox.execute(CELL);",
  ].join("\n"),
  "docs/context.md": [
    "await using sandbox = await createSandbox();",
    'await sandbox.initialize("a text");',
    "await sandbox.execute(CELL);",
  ].join("\n"),
  "docs/notebooks.md": [
    'await using nb = await Notebook.open({ user: "ann", session: "cells", dir: "./books" });',
    "await nb.run(CELL);",
  ].join("\n"),
  "docs/policy.md": "await using repl = await AgentRepl.open();\nawait repl.turn(CELL);",
};

/** Cells that are not run: they need a library of Python. */
const NOT_RUN = /^import dataclasses|^from openai/;

/** The examples as programs: each by itself, but for those of a page that go on from something. */
export function programsOf(page: string): Program[] {
  const blocks = blocksOf(page).filter(({ language }) => language === "ts");
  const cells = blocksOf(page).filter(
    ({ language, code }) => language === "python" && !NOT_RUN.test(code),
  );
  const isWhole = ({ code }: Block) => /^import /m.test(code);
  const whole = blocks
    .filter(isWhole)
    .map((block) => program(block.name, page, [block], block.code));
  const fragments = blocks.filter((block) => !isWhole(block));
  for (const block of cells) whole.push(program(block.name, page, [block], aroundCell(block)));
  if (fragments.length === 0) return whole;
  const { once = "", each = "" } = BEFORE_FRAGMENTS[page] ?? {};
  const parts = fragments.map(({ name, code }) => `{ // ${name}\n${each}\n${code}}`);
  const source = [IMPORTS, once, ...parts, "export {};", ""].join("\n");
  return [...whole, program(`${page}:fragments`, page, fragments, source)];
}

function aroundCell({ page, code }: Block): string {
  const program = AROUND_CELLS[page] ?? "nothing runs these cells";
  return `${IMPORTS}\n${program.replace("CELL", () => JSON.stringify(code))}\nexport {};\n`;
}

function program(name: string, page: string, blocks: readonly Block[], source: string): Program {
  const help = HELP.filter(
    (one) => one.page === page && blocks.some(({ code }) => code.includes(one.block)),
  );
  const changed = help.reduce((text, { before, replace: [found, by] = ["", ""] }) => {
    const replaced = found === "" ? text : text.replace(found, by);
    return before === undefined ? replaced : `${before}\n${replaced}`;
  }, source);
  return {
    name,
    page,
    source: changed.replace(ADDRESSES, "ORIGIN"),
    needsLibraries: help.some(({ needsLibraries }) => needsLibraries === true),
    claims: blocks.flatMap(claimsOf),
    raises: help.some(({ raises }) => raises === true),
  };
}

/**
 * `console.log(…); // what comes out`, the same on the line below, and the lines of a text block right after
 * the example. What has a `…` is not exact.
 */
function claimsOf({ code, output }: Block): string[] {
  const comments = [...code.matchAll(/console\.log\(.*\);(?: |\n *)\/\/ (.+)$/gm)];
  return [...comments.map(([, claim = ""]) => claim), ...output.split("\n")].filter(
    (claim) => claim.trim() !== "" && !claim.includes("…"),
  );
}
