import { type Element, type ElementKind, isBoilerplate, isHidden } from "./elements.js";
import { InlineMarks, isEmphasis } from "./inline-marks.js";
import { MarkdownWriter } from "./markdown-writer.js";
import { Region, Spans } from "./region.js";

const LONGEST_TITLE = 500;
const MOST_COLUMNS = 50;
const LANGUAGE = /(?:^|\s)(?:language|lang|highlight-source|brush)[-:]\s?([\w+#.-]{1,20})/;
/** Less than this in its main element, and a page has its text elsewhere. */
const LEAST_MAIN = 140;
const UNORDERED = -1;

export type Attributes = ReadonlyMap<string, string>;

/** What a page's reader reads of it, from its tags in their order; no tree is made. */
export class PageBuilder {
  readonly #writer: MarkdownWriter;
  readonly #inline: InlineMarks;
  readonly #hides: boolean;
  /** The numbers of the last items. */
  readonly #lists: number[] = [];
  readonly #main = new Spans();
  readonly #articles = new Spans();
  #hidden: Region | undefined;
  /** Shown only if there is more than fields and links in it. */
  #doubtful: Region | undefined;
  #title: string | undefined;
  #hasTitle = false;
  #isInTitle = false;
  #isInRaw = false;
  #isInHeading = false;
  #quotes = 0;
  #code: string[] | undefined;
  #language = "";

  /** Without `hides`, menus and the like are shown: one that never ends would hide the page. */
  constructor(base: URL, hides: boolean, expected = 0) {
    this.#writer = new MarkdownWriter(expected);
    this.#inline = new InlineMarks(this.#writer, base);
    this.#hides = hides;
  }

  get characters(): number {
    return this.#writer.length;
  }

  get title(): string | undefined {
    const title = this.#title?.replace(/\s+/g, " ").trim();
    return title === "" ? undefined : title;
  }

  /** Whether something hidden was still open at the end. */
  get isHiding(): boolean {
    return this.#hidden !== undefined;
  }

  /** What stands from `start` to `end` in a text. */
  text(source: string, start: number, end: number): void {
    if (this.#hidden !== undefined || this.#isInRaw) return;
    if (this.#isInTitle) this.#addToTitle(source.slice(start, end));
    else if (this.#code !== undefined) this.#code.push(source.slice(start, end));
    else if (!this.#inline.isPermalink(source, start, end)) this.#writer.text(source, start, end);
  }

  open(element: Element, attributes: Attributes): void {
    const { name, kind } = element;
    if (kind === "main") this.#hidden = undefined;
    if (this.#hidden !== undefined) {
      this.#hidden.opened(name);
      return;
    }
    this.#doubtful?.opened(name);
    this.#main.opened(name);
    this.#articles.opened(name);
    if (kind === "raw") this.#isInRaw = true;
    else if (kind === "hidden" || isHidden(attributes)) this.#hide(name);
    else if (this.#code !== undefined) this.#openInCode(kind, attributes);
    else {
      this.#locate(name, kind, attributes);
      if (element.isInline) this.#openInline(kind, attributes);
      else this.#openBlock(element, attributes);
    }
  }

  close(element: Element): void {
    const { name, kind } = element;
    if (kind === "raw") this.#isInRaw = false;
    if (this.#hidden !== undefined) {
      if (this.#hidden.closed(name)) this.#hidden = undefined;
      return;
    }
    if (this.#code !== undefined && kind === "code-block") this.#endCode();
    else if (this.#code === undefined) {
      if (element.isInline) this.#closeInline(kind);
      else this.#closeBlock(element);
    }
    if (this.#main.closed(name)) this.#main.end(this.#writer.length);
    if (this.#articles.closed(name)) this.#articles.end(this.#writer.length);
    if (this.#doubtful?.closed(name) !== true) return;
    if (!this.#doubtful.isKept) this.#forget(this.#doubtful.start);
    this.#doubtful = undefined;
  }

  /** The main part if the page says which that is and there is text in it, else all of it. */
  finish(): string {
    if (this.#code !== undefined) this.#endCode();
    this.#inline.endLink();
    this.#writer.endRow();
    const end = this.#writer.length;
    this.#main.end(end);
    this.#articles.end(end);
    const half = end / 2;
    const hasMain = this.#main.characters >= Math.min(LEAST_MAIN, half);
    const hasArticles = this.#articles.characters >= half;
    const spans = hasMain ? this.#main.all : hasArticles ? this.#articles.all : [];
    const whole = { start: 0, end };
    return (spans.length > 0 ? spans : [whole])
      .map((span) => this.#writer.between(span.start, span.end))
      .join("\n\n");
  }

  /** Notes what part of the page begins here. */
  #locate(name: string, kind: ElementKind, attributes: Attributes): void {
    if (attributes.size === 0 && kind !== "main" && kind !== "article" && kind !== "form") return;
    const isMain = kind === "main" || attributes.get("role") === "main";
    const isDoubtful = kind === "form" || (!isMain && this.#hides && isBoilerplate(attributes));
    if (!isMain && !isDoubtful && kind !== "article") return;
    this.#block(2);
    const place = this.#writer.length;
    if (isMain) this.#main.begin(name, place);
    else if (kind === "article") this.#articles.begin(name, place);
    else this.#doubtful ??= new Region(name, place);
  }

  #openBlock({ name, kind, isLine }: Element, attributes: Attributes): void {
    const writer = this.#writer;
    this.#block(isLine || this.#lists.length > 0 ? 1 : 2);
    if (kind === "heading") {
      writer.begin(`${"#".repeat(Number(name[1]))} `);
      this.#isInHeading = true;
    } else if (kind === "list" || kind === "ordered-list") {
      this.#lists.push(kind === "list" ? UNORDERED : 0);
      writer.indent(kind === "list" ? "  " : "   ");
    } else if (kind === "quote") {
      this.#quotes += 1;
      writer.indent("> ");
    } else if (kind === "code-block") {
      this.#code = [];
      this.#language = languageOf(attributes);
    } else if (kind === "rule") writer.rule();
    else if (kind === "item") writer.item(this.#itemMark());
    else if (name === "dd") writer.begin(": ");
    else if (kind === "table") writer.openTable(attributes.get("role") === "presentation");
    else if (kind === "row") writer.row();
    else if (kind === "cell") writer.cell(columnsOf(attributes));
  }

  #openInline(kind: ElementKind, attributes: Attributes): void {
    if (isEmphasis(kind)) {
      // A heading is emphasis enough.
      if (kind === "code" || !this.#isInHeading) this.#inline.open(kind);
    } else if (kind === "link") this.#inline.openLink(attributes.get("href"));
    else if (kind === "image") {
      this.#inline.image(attributes.get("alt") ?? "", attributes.get("src") ?? "");
    } else if (kind === "break") {
      if (this.#isInHeading) this.#writer.word(" ");
      else this.#writer.lineBreak();
    } else if (kind === "title") this.#isInTitle = true;
    else if (kind === "base") this.#inline.links.rebase(attributes.get("href") ?? "");
  }

  #closeBlock({ kind, isLine }: Element): void {
    if (kind === "rule") return;
    const writer = this.#writer;
    this.#block(isLine || this.#lists.length > 1 ? 1 : 2);
    if (kind === "heading") this.#isInHeading = false;
    else if (kind === "list" || kind === "ordered-list") {
      if (this.#lists.pop() !== undefined) writer.outdent();
    } else if (kind === "quote" && this.#quotes > 0) {
      this.#quotes -= 1;
      writer.outdent();
    } else if (kind === "row") writer.endRow();
    else if (kind === "table") writer.closeTable();
  }

  #closeInline(kind: ElementKind): void {
    if (isEmphasis(kind)) {
      if (kind === "code" || !this.#isInHeading) this.#inline.close(kind);
    } else if (kind === "link") this.#inline.endLink();
    else if (kind === "title") this.#endTitle();
    else if (kind === "break") this.#writer.lineBreak();
  }

  #addToTitle(text: string): void {
    if (!this.#hasTitle) this.#title = ((this.#title ?? "") + text).slice(0, LONGEST_TITLE);
  }

  #endTitle(): void {
    this.#isInTitle = false;
    this.#hasTitle = true;
  }

  #openInCode(kind: ElementKind, attributes: Attributes): void {
    if (kind === "break") this.#code?.push("\n");
    if (kind === "code") this.#language ||= languageOf(attributes);
  }

  #endCode(): void {
    this.#writer.codeBlock(this.#code?.join("") ?? "", this.#language);
    this.#code = undefined;
  }

  #block(lines: number): void {
    this.#inline.endLine();
    this.#writer.break(lines);
  }

  #itemMark(): string {
    const last = this.#lists.at(-1) ?? UNORDERED;
    if (last === UNORDERED) return "- ";
    this.#lists[this.#lists.length - 1] = last + 1;
    return `${last + 1}. `;
  }

  #hide(name: string): void {
    if (this.#hides) this.#hidden = new Region(name, this.#writer.length);
    this.#block(1);
  }

  #forget(place: number): void {
    this.#writer.goBack(place);
    this.#inline.forget();
    this.#main.cut(place);
    this.#articles.cut(place);
  }
}

function languageOf(attributes: Attributes): string {
  return LANGUAGE.exec(attributes.get("class") ?? "")?.[1] ?? "";
}

function columnsOf(attributes: Attributes): number {
  const columns = Number(attributes.get("colspan") ?? 1);
  return Number.isInteger(columns) ? Math.min(Math.max(columns, 1), MOST_COLUMNS) : 1;
}
