import type { ElementKind } from "./elements.js";
import { LinkTargets } from "./link-target.js";
import type { MarkdownWriter } from "./markdown-writer.js";

const LONGEST_ALT = 300;
/** What links to a heading's own place show. */
const PERMALINK = /^[\s¶§#🔗]*$/u;
const MARKS = { strong: "**", emphasis: "*", code: "`" } as const;

export type Emphasis = keyof typeof MARKS;

export function isEmphasis(kind: ElementKind): kind is Emphasis {
  return kind === "strong" || kind === "emphasis" || kind === "code";
}

/** Links, images and emphasis within a line. */
export class InlineMarks {
  readonly links: LinkTargets;
  readonly #writer: MarkdownWriter;
  readonly #depths = { strong: 0, emphasis: 0, code: 0 };
  #target: string | undefined;
  #isOwnPlace = false;

  constructor(writer: MarkdownWriter, base: URL) {
    this.#writer = writer;
    this.links = new LinkTargets(base);
  }

  isPermalink(source: string, start: number, end: number): boolean {
    return this.#isOwnPlace && PERMALINK.test(source.slice(start, end));
  }

  open(kind: Emphasis): void {
    if (this.#depths[kind] === 0) this.#writer.open(MARKS[kind]);
    this.#depths[kind] += 1;
  }

  close(kind: Emphasis): void {
    if (this.#depths[kind] === 0) return;
    this.#depths[kind] -= 1;
    if (this.#depths[kind] === 0) this.#writer.close(MARKS[kind], MARKS[kind]);
  }

  openLink(href: string | undefined): void {
    this.endLink();
    this.#isOwnPlace = href?.startsWith("#") === true;
    this.#target = href === undefined ? undefined : this.links.resolve(href);
    if (this.#target !== undefined) this.#writer.open("[");
  }

  endLink(): void {
    this.#isOwnPlace = false;
    if (this.#target === undefined) return;
    this.#writer.close("[", `](${this.#target})`);
    this.#target = undefined;
  }

  /** A link goes on in the next block only if it has no words yet. */
  endLine(): void {
    if (this.#target !== undefined && !this.#writer.isPending("[")) this.endLink();
  }

  image(alt: string, src: string): void {
    const shown = alt
      .slice(0, LONGEST_ALT)
      .replace(/[\s[\]]+/g, " ")
      .trim();
    if (shown === "") return;
    const target = this.links.resolve(src);
    this.#writer.word(target === undefined ? `![${shown}]` : `![${shown}](${target})`);
  }

  /** After what they belong to was dropped. */
  forget(): void {
    this.#target = undefined;
    this.#isOwnPlace = false;
    Object.assign(this.#depths, { strong: 0, emphasis: 0, code: 0 });
  }
}
