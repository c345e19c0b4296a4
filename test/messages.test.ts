import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { counted } from "../src/errors.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCES = join(ROOT, "src");

/** Words of the inside: users have sandboxes, sessions, processes, connections and isolation. */
const INSIDE =
  /\b(zygotes?|frames?|links?|walls?|rooms?|lodgings?|nurser(?:y|ies)|cradles?|famil(?:y|ies)|heads?|porters?|wardens?|mend(?:s|ed|ing)?)\b/i;
/** Where such a word is the field's own, or no part of a message. */
const ELSEWHERE: readonly RegExp[] = [
  /(?:symbolic|hard|resource) links?|data frames?|lz4\.frame|walls: false|from cellar_runner\.[\w.]+ import/gi,
];

interface Text {
  readonly place: string;
  readonly text: string;
}

/** Comments, regular expressions and strings; of templates the parts around what is put in. */
const TOKEN =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|(?<=[(=,:[!&|?{};\n]\s*|return )\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*|"((?:\\.|[^"\\\n])*)"|`/g;

/** Every string of a source that is prose: more than one word. */
function proseIn(path: string): Text[] {
  const source = readFileSync(path, "utf8");
  const found: Text[] = [];
  for (const { text, at } of stringsOf(source)) {
    if (!/\p{L}[\p{L}',.;:)]* (?:\p{L}|…)|… \p{L}/u.test(text)) continue;
    const line = source.slice(0, at).split("\n").length;
    found.push({ place: `${path.slice(ROOT.length)}:${line}`, text });
  }
  return found;
}

interface Literal {
  readonly text: string;
  readonly at: number;
}

function stringsOf(source: string): Literal[] {
  const found: Literal[] = [];
  const token = new RegExp(TOKEN);
  for (let match = token.exec(source); match !== null; match = token.exec(source)) {
    if (match[1] !== undefined) found.push({ text: match[1], at: match.index });
    else if (match[0] === "`") token.lastIndex = template(source, match.index, found);
  }
  return found;
}

/** Adds the template and the strings within it; gives the place behind it. */
function template(source: string, start: number, found: Literal[]): number {
  let text = "";
  let at = start + 1;
  while (at < source.length && source[at] !== "`") {
    if (source[at] === "\\") {
      text += source.slice(at, at + 2);
      at += 2;
    } else if (source.startsWith("${", at)) {
      const end = expressionEnd(source, at + 2, found);
      text += "…";
      at = end + 1;
    } else {
      text += source[at];
      at += 1;
    }
  }
  found.push({ text, at: start });
  return at + 1;
}

function expressionEnd(source: string, start: number, found: Literal[]): number {
  let depth = 0;
  let at = start;
  while (at < source.length) {
    const character = source[at] ?? "";
    if (character === "}" && depth === 0) return at;
    if (character === "{") depth += 1;
    else if (character === "}") depth -= 1;
    else if (character === '"') {
      const end = source.indexOf('"', at + 1);
      found.push({ text: source.slice(at + 1, end), at });
      at = end;
    } else if (character === "`") {
      at = template(source, at, found) - 1;
    }
    at += 1;
  }
  return at;
}

function prose(): Text[] {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" });
  return (
    files
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
      // Names of system calls.
      .filter((file) => !file.endsWith("syscalls.ts"))
      .flatMap((file) => proseIn(join(SOURCES, file)))
  );
}

describe("messages to users", () => {
  const all = prose();

  it("are found", () => {
    expect(all.length).toBeGreaterThan(500);
    expect(all.map(({ text }) => text)).toContain("the sandbox was destroyed");
  });

  it("are in users' words", () => {
    const wrong = all.filter(({ text }) => {
      const rest = ELSEWHERE.reduce((left, allowed) => left.replaceAll(allowed, ""), text);
      return INSIDE.test(rest);
    });
    expect(wrong.map(({ place, text }) => `${place} ${text}`)).toEqual([]);
  });

  it("count in plain English", () => {
    const wrong = all.filter(({ text }) => /\p{L}\(s\)/u.test(text));
    expect(wrong).toEqual([]);
    expect([0, 1, 2, 1_200].map((count) => counted(count, "run"))).toEqual([
      "0 runs",
      "1 run",
      "2 runs",
      "1,200 runs",
    ]);
  });
});
