import { matchesGlob } from "../../config/glob.js";

/** Longer lines are ignored. */
const LONGEST_LINE = 4096;

/** One character of a name's pattern, or a star for any number of them. */
type Sign = "*" | ((character: string) => boolean);

interface Rule {
  /** A pattern for each name of a path, or a double star for any number of names. */
  readonly names: readonly (readonly Sign[] | "**")[];
  readonly isForFolders: boolean;
  readonly isNegated: boolean;
}

/** The rules of a `.gitignore` for the files beside and below it. */
export class IgnoreRules {
  readonly #rules: readonly Rule[];

  constructor(text: string) {
    this.#rules = text.split(/\r?\n/).flatMap((line) => ruleOf(line) ?? []);
  }

  /** Whether a path relative to its folder is ignored; undefined where no rule matches. */
  ignores(path: string, isFolder: boolean): boolean | undefined {
    const names = path.split("/");
    const rule = this.#rules.findLast(
      (each) =>
        (isFolder || !each.isForFolders) && matchesGlob(each.names, names, isStar, fitsName),
    );
    return rule === undefined ? undefined : !rule.isNegated;
  }
}

const isStar = (part: unknown) => part === "*" || part === "**";

function fitsName(pattern: readonly Sign[] | "**", name: string): boolean {
  if (pattern === "**") return true;
  return matchesGlob(pattern, [...name], isStar, (sign, found) => sign === "*" || sign(found));
}

function ruleOf(line: string): Rule | undefined {
  if (line.length > LONGEST_LINE) return undefined;
  const written = line.replace(/(?<!\\) +$/, "");
  if (written === "" || written.startsWith("#")) return undefined;
  const isNegated = written.startsWith("!");
  const pattern = isNegated ? written.slice(1) : written;
  const isForFolders = pattern.endsWith("/");
  const path = pattern.replace(/^\/+|\/+$/g, "");
  if (path === "") return undefined;
  const isAnchored = /\/./.test(pattern);
  const names = path.split("/").map((name) => (name === "**" ? "**" : signsOf(name)));
  return {
    names: [
      ...(isAnchored ? [] : ["**" as const]),
      ...names,
      // Of a folder only what is in it, not the folder itself.
      ...(names.at(-1) === "**" ? [["*" as const]] : []),
    ],
    isForFolders,
    isNegated,
  };
}

function signsOf(pattern: string): Sign[] {
  const signs: Sign[] = [];
  const characters = [...pattern];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    const end = character === "[" ? characters.indexOf("]", at + 2) : -1;
    if (character === "*") signs.push("*");
    else if (character === "?") signs.push(() => true);
    else if (end > 0) {
      signs.push(oneOf(characters.slice(at + 1, end)));
      at = end;
    } else {
      if (character === "\\" && at + 1 < characters.length) at += 1;
      const wanted = characters[at];
      signs.push((found) => found === wanted);
    }
  }
  return signs;
}

/** The inside of square brackets: characters and ranges, or their negation. */
function oneOf(members: readonly string[]): (character: string) => boolean {
  const isOther = members[0] === "!" || members[0] === "^";
  const listed = isOther ? members.slice(1) : members;
  const ranges: [string, string][] = [];
  for (let at = 0; at < listed.length; at += 1) {
    const first = listed[at] ?? "";
    const last = listed[at + 1] === "-" ? listed[at + 2] : undefined;
    ranges.push([first, last ?? first]);
    if (last !== undefined) at += 2;
  }
  return (character) =>
    ranges.some(([first, last]) => first <= character && character <= last) !== isOther;
}
