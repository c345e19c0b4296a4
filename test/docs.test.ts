import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { SANDBOX_IDENTITY } from "../src/backends/host/run-folder.js";
import { limitSettingsSchema, settingsSchema } from "../src/config.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const text = (path: string) => readFileSync(join(root, path), "utf8");

function documents(folder = "."): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name.startsWith(".") || entry.name.startsWith("node_modules")) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ["dist", "coverage"].includes(path) ? [] : documents(path);
    return path.endsWith(".md") ? [path] : [];
  });
}

function withoutCode(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "");
}

function linksOf(markdown: string): string[] {
  return [...withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** As GitHub names them. */
function anchorsOf(markdown: string): string[] {
  const seen = new Map<string, number>();
  const headings = markdown.replace(/^```[\s\S]*?^```/gm, "").matchAll(/^#+ +(.+)$/gm);
  return [...headings].map(([, heading = ""]) => {
    const name = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replace(/\s/g, "-");
    const times = seen.get(name) ?? 0;
    seen.set(name, times + 1);
    return times === 0 ? name : `${name}-${times}`;
  });
}

function brokenLinks(path: string, markdown: string): string[] {
  return linksOf(markdown).flatMap((target) => {
    const [file = "", anchor] = target.split("#");
    const aim = resolve(root, dirname(path), file);
    const exists = file === "" || statSync(aim, { throwIfNoEntry: false }) !== undefined;
    if (!exists) return [`${path}: ${target}`];
    if (anchor === undefined) return [];
    const aimed = file === "" ? markdown : readFileSync(aim, "utf8");
    return anchorsOf(aimed).includes(anchor) ? [] : [`${path}: ${target}`];
  });
}

function rowsOf(markdown: string): Map<string, string> {
  const rows = markdown.matchAll(/^\| (`.+?) \| (.+) \|$/gm);
  return new Map(
    [...rows].flatMap(([, names = "", rest = ""]) =>
      names.split(", ").map((name): [string, string] => [name.replaceAll("`", ""), rest]),
    ),
  );
}

/** The named parts of a piece of source that must be told in a document. */
function wordsIn(path: string, piece: RegExp, word: RegExp): string[] {
  const found = piece.exec(text(path))?.[1] ?? "";
  const words = [...found.matchAll(word)].map(([, name = ""]) => name);
  expect(words, `${path} has no ${piece}`).not.toEqual([]);
  return words;
}

describe("the documents", () => {
  it.each(documents())("%s links to files and headings that exist", (path) => {
    expect(brokenLinks(path, text(path))).toEqual([]);
  });

  it("name every setting with its default", () => {
    const rows = rowsOf(text("docs/library.md"));
    const { limits, ...settings } = settingsSchema.parse({});
    const defaults = [
      ...Object.keys(settingsSchema.shape).map((name) => [name, { ...settings }[name]] as const),
      ...Object.keys(limitSettingsSchema.shape).map(
        (name) => [`limits.${name}`, { ...limits }[name]] as const,
      ),
    ];
    const untold = defaults.filter(
      ([name, value]) =>
        !rows.get(name)?.includes(value === undefined ? "" : `\`${JSON.stringify(value)}\``),
    );
    expect(untold).toEqual([]);
  });

  it("name every option that stands in code only, and every error code", () => {
    const rows = rowsOf(text("docs/library.md"));
    const options = wordsIn(
      "src/backends/backend.ts",
      /interface REPLConfig[^{]*\{([\s\S]*?)\n\}/,
      /^ {2}(\w+)\?:/gm,
    );
    const codes = wordsIn("src/errors.ts", /ERROR_CODES = \[([\s\S]*?)\]/, /"(\w+)"/g);
    expect([...options, ...codes].filter((name) => !rows.has(name))).toEqual([]);
  });

  it("never have an agent fetch the package by a name that is not taken yet", () => {
    const files = ["README.md", ...["docs", "src"].flatMap(sources)];
    expect(files.flatMap((file) => fetchingLines(text(file)))).toEqual([]);
  });

  it("tell what a session sees", () => {
    const runner = "python/cellar_runner";
    const facts = [
      ...wordsIn(`${runner}/linux/jail.py`, /MASKED = \((.*)\)/, /"([\w-]+)"/g),
      ...wordsIn("src/isolation/layout.ts", /HARMLESS_ETC = \[([\s\S]*?)\]/, /"(.+?)"/g),
      ...wordsIn(
        "src/isolation/bwrap.ts",
        /sessionEnvironment[\s\S]*?return \{([\s\S]*?)\}/,
        /^ {4}(\w+):/gm,
      ),
      ...wordsIn(
        "src/isolation/bwrap.ts",
        /function guestEnvironment[\s\S]*?return \{([\s\S]*?)\};/,
        /^ {4}(\w+):/gm,
      ),
      ...wordsIn(`${runner}/linux/fds.py`, /CHANNEL, .* = range\((\d+),/, /(\d+)/g),
      ...wordsIn(`${runner}/linux/fds.py`, /DESCRIPTOR_CEILING = (\d+)/, /(\d+)/g),
      String(SANDBOX_IDENTITY.uid),
    ];
    const told = text("docs/security.md");
    expect(facts.filter((fact) => !told.includes(fact))).toEqual([]);
  });
});

/** Lines that have npx fetch a package without asking: whoever owns the name would run code here. */
function fetchingLines(content: string): string[] {
  return content.match(/^.*\bnpx\b.{0,40}(?:-y|--yes)\b.*$/gm) ?? [];
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(md|ts)$/.test(name))
    .map((name) => join(folder, name));
}

describe("the checks above", () => {
  it("find what fetches the package by its name", () => {
    const block = '{ "command": "npx", "args": ["-y", "cellar", "mcp"] }';
    expect(fetchingLines(`npx cellar doctor\n${block}\nnpx --yes cellar`)).toHaveLength(2);
  });

  it("find broken links and anchors", () => {
    const markdown = [
      "# One & two",
      "[a](README.md) [b](#one--two) [c](README.md#cellar) [d](https://example.com)",
      "[e](nowhere.md) [f](#three) [g](README.md#nothing) `[h](no.md)`",
      "```text\n[i](no.md)\n# Three\n```",
    ].join("\n");
    const broken = ["nowhere.md", "#three", "README.md#nothing"].map((link) => `a.md: ${link}`);
    expect(brokenLinks("a.md", markdown)).toEqual(broken);
  });
});
