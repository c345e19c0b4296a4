import { blocksOf } from "./blocks.js";

/** Lines of shell blocks that are not run, and why. */
const NOT_RUN: readonly (readonly [line: RegExp, because: string])[] = [
  [/ install /, "it needs a package index; other tests install"],
  [/…/, "something is left out"],
  [/ daemon run$/, "it serves until it is stopped"],
];

export interface CommandLine {
  readonly line: string;
  /** Needs a Python with pandas and matplotlib. */
  readonly needsLibraries: boolean;
}

/** The commands of Cellar that a page shows in its shell blocks, in their order. */
export function commandsOf(page: string): CommandLine[] {
  const shell = blocksOf(page).filter(({ language }) => language === "sh");
  const lines = shell
    .flatMap(({ code }) => code.split("\n"))
    .map((line) => line.replace(/ +#.*$/, ""))
    .filter((line) => /^(?:npx )?cellar /.test(line));
  return [...new Set(lines)]
    .filter((line) => !NOT_RUN.some(([pattern]) => pattern.test(line)))
    .map((line) => ({
      line: line.replace("http://127.0.0.1:8080", "ORIGIN"),
      needsLibraries: line.includes("import pandas"),
    }));
}
