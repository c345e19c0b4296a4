import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export interface Block {
  /** Such as `docs/library.md:25`. */
  readonly name: string;
  readonly page: string;
  readonly language: string;
  readonly code: string;
  /** The text block right after it. */
  readonly output: string;
}

/** README and the pages of docs. */
export function pages(): string[] {
  const docs = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
  return ["README.md", ...docs.sort().map((name) => `docs/${name}`)];
}

export function textOf(page: string): string {
  return readFileSync(join(root, page), "utf8");
}

export function blocksOf(page: string): Block[] {
  const text = textOf(page);
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map((found) => {
    const [, language = "", code = ""] = found;
    const line = text.slice(0, found.index).split("\n").length;
    const rest = text.slice(found.index + found[0].length);
    const output = /^\n\n```text\n([\s\S]*?)^```$/m.exec(rest);
    const shown = output?.index === 0 ? (output[1] ?? "") : "";
    return { name: `${page}:${line}`, page, language, code, output: shown };
  });
}
