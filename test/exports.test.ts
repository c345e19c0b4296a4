import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const text = (path: string) => readFileSync(join(root, path), "utf8");

/** `cellar`, `cellar/notebook` and so on, with the source file of each. */
function entries(): [name: string, path: string][] {
  const { exports }: { exports: Record<string, string | { default: string }> } = JSON.parse(
    text("package.json"),
  );
  return Object.entries(exports).flatMap(([name, target]) =>
    typeof target === "string"
      ? []
      : [
          [
            name.replace(".", "cellar"),
            target.default.replace("./dist", "src").replace(".js", ".ts"),
          ],
        ],
  );
}

const EXPORT = /^export (type )?\{([^}]*)\} from "[^"]+";$/gm;

function exportsOf(source: string): { values: string[]; types: string[] } {
  const rest = source.replace(EXPORT, "").replace(/^\/\/\/.*$/gm, "");
  expect(rest.trim(), "an entry has nothing but lists of exports").toBe("");
  const names = [...source.matchAll(EXPORT)].flatMap(([, type = "", list = ""]) =>
    list
      .split(",")
      .filter((name) => name.trim() !== "")
      .map((name) => `${type}${name.trim()}`),
  );
  const isType = (name: string) => name.startsWith("type ");
  return {
    values: names.filter((name) => !isType(name)).sort(),
    types: names
      .filter(isType)
      .map((name) => name.slice("type ".length))
      .sort(),
  };
}

/** The names in the tables of a section of docs/exports.md. */
function documented(page: string, entry: string): { values: string[]; types: string[] } {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${entry}\n`)) ?? "";
  const [, values = "", types = ""] = section.split(/^\| (?:name|type) \|.*$/m);
  return { values: namesIn(values), types: namesIn(types) };
}

function namesIn(table: string): string[] {
  const firstColumns = [...table.matchAll(/^\| (`[^|]+`) \|/gm)].map(([, column = ""]) => column);
  return firstColumns.flatMap((column) => column.replaceAll("`", "").split(", ")).sort();
}

describe("the public entries", () => {
  const page = text("docs/exports.md");

  it.each(entries())("%s exports what docs/exports.md says, and nothing else", (name, path) => {
    expect(exportsOf(text(path))).toEqual(documented(page, name));
  });

  it("each have a section in docs/exports.md", () => {
    const sections = [...page.matchAll(/^## (.+)$/gm)].map(([, name]) => name);
    expect(sections.sort()).toEqual(
      entries()
        .map(([name]) => name)
        .sort(),
    );
  });
});
