import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const WALKS = ["Opening a sandbox", "A cell", "A notebook cell", "An rlm turn", "An MCP call"];
const STEP = /^(?:\d+\.|-) `([^`:]+): ([^`]+)`/gm;

/** The steps of a walk as they stand under its heading. */
function stepsOf(document: string, walk: string): { file: string; name: string }[] {
  const [, rest = ""] = document.split(`\n### ${walk}\n`);
  const section = rest.split(/^##/m)[0] ?? "";
  return [...section.matchAll(STEP)].map(([, file = "", name = ""]) => ({
    file: file.startsWith("src/") ? file : `python/cellar_runner/${file}`,
    name,
  }));
}

/** Whether the source defines the function, method or constant; a call of it does not count. */
function defines(file: string, source: string, name: string): boolean {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  if (file.endsWith(".py")) {
    return new RegExp(`^[ \\t]*(?:async )?def ${escaped}\\(`, "m").test(source);
  }
  if (new RegExp(`^(?:export )?const ${escaped}\\b`, "m").test(source)) return true;
  if (new RegExp(`^ {2}readonly ${escaped}\\b[^;\\n]*=`, "m").test(source)) return true;
  const words = "(?:(?:export|static|override|async|get|function) )*";
  const heads = source.matchAll(new RegExp(`^(?: {2})?${words}${escaped}(?:<[^(]*>)?\\(`, "gm"));
  return [...heads].some(({ 0: head, index }) => isBody(source.slice(index + head.length)));
}

/** Whether a body follows after the parameters whose parenthesis was opened before. */
function isBody(text: string): boolean {
  let depth = 1;
  let at = 0;
  for (; at < text.length && depth > 0; at += 1) {
    if (text[at] === "(") depth += 1;
    else if (text[at] === ")") depth -= 1;
  }
  return /^\s*(?::[^;]*?)?\{/.test(text.slice(at));
}

function missing(document: string, walk: string): string[] {
  return stepsOf(document, walk).flatMap(({ file, name }) => {
    const path = join(root, file);
    if (!existsSync(path)) return [`${file} does not exist`];
    return defines(file, readFileSync(path, "utf8"), name)
      ? []
      : [`${file} does not define ${name}`];
  });
}

const document = readFileSync(join(root, "docs", "architecture.md"), "utf8");

describe("the walks of docs/architecture.md", () => {
  it.each(WALKS)("%s names functions that are where it says", (walk) => {
    expect(stepsOf(document, walk).length).toBeGreaterThan(5);
    expect(missing(document, walk)).toEqual([]);
  });
});

describe("the check above", () => {
  const source = [
    "export async function open<T>(one: () => void): Promise<{ a: T }> {",
    "  call(one);",
    "  other(one).then(",
    "class A {",
    "  async #hidden({ one }: B, two = f()): Promise<void> {",
    "  readonly arrow: C = async () => {};",
    "  static make(",
    "    one: number,",
    "  ): A {",
    "export const tool: Tool = {",
  ].join("\n");

  it("finds a function that was renamed, and one that is only called", () => {
    const found = ["open", "#hidden", "arrow", "make", "tool"];
    expect(found.filter((name) => !defines("a.ts", source, name))).toEqual([]);
    const absent = ["opened", "hidden", "call", "other", "one"];
    expect(absent.filter((name) => defines("a.ts", source, name))).toEqual([]);
    expect(defines("a.py", "    def run(self):\n        walk()", "run")).toBe(true);
    expect(defines("a.py", "    def run(self):\n        walk()", "walk")).toBe(false);
  });

  it("finds a file that is gone", () => {
    const broken = document.replace("session/head.py: serve", "session/heads.py: serve");
    expect(missing(broken, "A cell")).toEqual([
      "python/cellar_runner/session/heads.py does not exist",
    ]);
    const renamed = document.replace("running-cell.ts: stop", "running-cell.ts: halt");
    expect(missing(renamed, "A cell")).toEqual([
      "src/backends/session/cell/running-cell.ts does not define halt",
    ]);
  });
});
