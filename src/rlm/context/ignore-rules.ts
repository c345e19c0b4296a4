/** Longer ones are no patterns that somebody wrote. */
const LONGEST_LINE = 4096;

/** One sign of a name's pattern; a star stands for any number of signs. */
type Sign = "*" | ((character: string) => boolean);

interface Rule {
  /** The names on the way, each as a pattern; a double star stands for any number of names. */
  readonly names: readonly (readonly Sign[] | "**")[];
  readonly isForFolders: boolean;
  readonly isTaken: boolean;
}

/** What a `.gitignore` says of the files beside and below it. */
export class IgnoreRules {
  readonly #rules: readonly Rule[];

  constructor(text: string) {
    this.#rules = text.split(/\r?\n/).flatMap((line) => ruleOf(line) ?? []);
  }

  /** Whether a path, seen from its folder, is left out; undefined where it says nothing. */
  leavesOut(path: string, isFolder: boolean): boolean | undefined {
    const names = path.split("/");
    const rule = this.#rules.findLast(
      (each) =>
        (isFolder || !each.isForFolders) &&
        matches(each.names, names, (pattern, name) =>
          matches(pattern, [...name], (sign, character) => sign(character)),
        ),
    );
    return rule === undefined ? undefined : !rule.isTaken;
  }
}

function ruleOf(line: string): Rule | undefined {
  if (line.length > LONGEST_LINE) return undefined;
  const written = line.replace(/(?<!\\) +$/, "");
  if (written === "" || written.startsWith("#")) return undefined;
  const isTaken = written.startsWith("!");
  const pattern = isTaken ? written.slice(1) : written;
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
    isTaken,
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

/** What stands in square brackets: characters and ranges, or none of them. */
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

/** Goes back to the last star alone, so that no pattern can take long. */
function matches<P, T>(
  pattern: readonly (P | "*" | "**")[],
  items: readonly T[],
  fits: (part: P, item: T) => boolean,
): boolean {
  let [part, item, star, resumed] = [0, 0, -1, 0];
  const isStar = (one: P | "*" | "**" | undefined): one is "*" | "**" =>
    one === "*" || one === "**";
  while (item < items.length) {
    const wanted = pattern[part];
    if (isStar(wanted)) {
      star = part;
      resumed = item;
      part += 1;
    } else if (wanted !== undefined && fits(wanted, items[item] as T)) {
      part += 1;
      item += 1;
    } else if (star >= 0) {
      resumed += 1;
      part = star + 1;
      item = resumed;
    } else return false;
  }
  while (isStar(pattern[part])) part += 1;
  return part === pattern.length;
}
