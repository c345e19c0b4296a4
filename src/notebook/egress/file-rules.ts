/**
 * Whether a path below the workspace fits one of the globs: `*` and `?` stay within a name, `**`
 * passes through folders, and a glob without a slash fits in every folder.
 */
export function matchesRule(path: string, globs: readonly string[]): boolean {
  const parts = segmentsOf(path);
  return globs.some((glob) => {
    const pattern = segmentsOf(glob);
    if (pattern.length === 0) return false;
    return fits(glob.includes("/") ? pattern : ["**", ...pattern], parts, isFolderGlob, fitsName);
  });
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

const isFolderGlob = (part: string) => part === "**";

function fitsName(pattern: string, name: string): boolean {
  return fits([...pattern], [...name], isStar, fitsCharacter);
}

const isStar = (character: string) => character === "*";
const fitsCharacter = (wanted: string, found: string) => wanted === "?" || wanted === found;

/** Goes back to the last star only, so that no pattern takes longer than the product of both. */
function fits(
  pattern: readonly string[],
  items: readonly string[],
  isAny: (part: string) => boolean,
  fitsOne: (part: string, item: string) => boolean,
): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let index = 0; index < items.length; ) {
    const part = pattern[at];
    if (part !== undefined && isAny(part)) {
      star = at;
      at += 1;
      resume = index;
    } else if (part !== undefined && fitsOne(part, items[index] ?? "")) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      at = star + 1;
      resume += 1;
      index = resume;
    } else return false;
  }
  return pattern.slice(at).every(isAny);
}
