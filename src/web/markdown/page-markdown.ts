import { setImmediate as pause } from "node:timers/promises";
import { Tokenizer } from "htmlparser2";
import { ATTRIBUTE_NAMES, ELEMENTS, type Element } from "./elements.js";
import { PageBuilder } from "./page-builder.js";

/** Parsed without a pause; the host does other work between two. */
const PIECE = 262_144;
const LONGEST_VALUE = 4000;

export interface MarkdownOptions {
  readonly base: URL;
  /** Where the text is cut, as links that are made whole are longer than they were. */
  readonly maxCharacters: number;
  readonly signal?: AbortSignal | undefined;
}

export interface PageMarkdown {
  readonly title: string | undefined;
  readonly text: string;
  readonly isTruncated: boolean;
}

/** A web page as its reader sees it, in one pass over its tags. */
export async function markdownOfHtml(
  html: string,
  options: MarkdownOptions,
): Promise<PageMarkdown> {
  const page = await built(html, options, true);
  // Something that is not shown never ended, and the rest of the page may be in it.
  return page ?? (await built(html, options, false)) ?? EMPTY;
}

const EMPTY: PageMarkdown = { title: undefined, text: "", isTruncated: false };

async function built(
  html: string,
  { base, maxCharacters, signal }: MarkdownOptions,
  hides: boolean,
): Promise<PageMarkdown | undefined> {
  const builder = new PageBuilder(base, hides, html.length);
  const tokenizer = new Tokenizer({}, new TagReader(html, builder));
  for (let start = 0; start < html.length; start += PIECE) {
    if (start > 0) await pause();
    signal?.throwIfAborted();
    // Places in the text count on from one piece to the next.
    tokenizer.write(html.length <= PIECE ? html : html.slice(start, start + PIECE));
    if (builder.characters > maxCharacters) {
      return {
        title: builder.title,
        text: builder.finish().slice(0, maxCharacters),
        isTruncated: true,
      };
    }
  }
  tokenizer.end();
  if (builder.isHiding) return undefined;
  return { title: builder.title, text: builder.finish(), isTruncated: false };
}

type Callbacks = ConstructorParameters<typeof Tokenizer>[1];

/** Turns what the tokenizer finds into elements, and reads only the attributes that matter. */
class TagReader implements Callbacks {
  readonly #html: string;
  readonly #builder: PageBuilder;
  readonly #attributes = new Map<string, string>();
  #element: Element | undefined;
  #attribute: string | undefined;
  #value = "";

  constructor(html: string, builder: PageBuilder) {
    this.#html = html;
    this.#builder = builder;
  }

  ontext(start: number, end: number): void {
    this.#builder.text(this.#html, start, end);
  }

  ontextentity(codePoint: number): void {
    const text = String.fromCodePoint(codePoint);
    this.#builder.text(text, 0, text.length);
  }

  onopentagname(start: number, end: number): void {
    this.#element = ELEMENTS.find(this.#html, start, end);
    this.#attribute = undefined;
    if (this.#attributes.size > 0) this.#attributes.clear();
  }

  onattribname(start: number, end: number): void {
    const wanted = this.#element?.attributes;
    if (wanted === undefined) return;
    const name = ATTRIBUTE_NAMES.find(this.#html, start, end);
    if (name === undefined || !wanted.has(name) || this.#attributes.has(name)) return;
    this.#attribute = name;
    this.#value = "";
  }

  onattribdata(start: number, end: number): void {
    if (this.#attribute !== undefined) this.#extend(this.#html.slice(start, end));
  }

  onattribentity(codePoint: number): void {
    if (this.#attribute !== undefined) this.#extend(String.fromCodePoint(codePoint));
  }

  onattribend(): void {
    if (this.#attribute === undefined) return;
    this.#attributes.set(this.#attribute, this.#value);
    this.#attribute = undefined;
  }

  onopentagend(): void {
    if (this.#element !== undefined) this.#builder.open(this.#element, this.#attributes);
  }

  onselfclosingtag(): void {
    this.onopentagend();
  }

  onclosetag(start: number, end: number): void {
    const element = ELEMENTS.find(this.#html, start, end);
    if (element !== undefined) this.#builder.close(element);
  }

  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onend(): void {}
  onprocessinginstruction(): void {}

  #extend(more: string): void {
    if (this.#value.length + more.length <= LONGEST_VALUE) this.#value += more;
  }
}
