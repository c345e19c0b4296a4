import { cutTo, textWidth } from "./text-width.js";

const SHOWN = 100;
const WIDEST = 40;

export function commonStart(matches: readonly string[]): string {
  let [common = ""] = matches;
  for (const match of matches) {
    while (!match.startsWith(common)) common = common.slice(0, -1);
  }
  // Do not split a surrogate pair.
  return common.replace(/[\ud800-\udbff]$/, "");
}

export function listMatches(matches: readonly string[], columns: number): string {
  const shown = matches.slice(0, SHOWN).map((match) => cutTo(match, WIDEST));
  const width = Math.max(...shown.map(textWidth)) + 2;
  const across = Math.max(1, Math.floor(columns / width));
  const lines: string[] = [];
  const height = Math.ceil(shown.length / across);
  for (let row = 0; row < height; row++) {
    const cells = shown.filter((_, at) => at % height === row);
    lines.push(
      cells
        .map((cell) => cell + " ".repeat(width - textWidth(cell)))
        .join("")
        .trimEnd(),
    );
  }
  const more = matches.length - shown.length;
  return [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join("\n");
}
