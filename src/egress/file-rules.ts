import { matchesGlob } from "../config/glob.js";

/**
 * Whether a path below the workspace fits one of the globs: `*` and `?` stay within a name, `**`
 * passes through folders, and a glob without a slash fits in every folder.
 */
export function matchesRule(path: string, globs: readonly string[]): boolean {
  const parts = segmentsOf(path);
  return globs.some((glob) => {
    const pattern = segmentsOf(glob);
    if (pattern.length === 0) return false;
    return matchesGlob(
      glob.includes("/") ? pattern : ["**", ...pattern],
      parts,
      isFolderGlob,
      fitsName,
    );
  });
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

const isFolderGlob = (part: string) => part === "**";

function fitsName(pattern: string, name: string): boolean {
  return matchesGlob([...pattern], [...name], isStar, fitsCharacter);
}

const isStar = (character: string) => character === "*";
const fitsCharacter = (wanted: string, found: string) => wanted === "?" || wanted === found;
