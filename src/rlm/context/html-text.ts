import { Tokenizer } from "htmlparser2";

/** Elements whose content readers do not see. */
const HIDDEN = new Set(["script", "style", "template", "noscript", "svg", "math", "iframe"]);
const PARAGRAPHS = new Set(
  "p div section article main header footer aside nav table ul ol dl pre blockquote figure form fieldset details title body hr".split(
    " ",
  ),
);
const LINES = new Set("br li tr dt dd option figcaption summary caption legend address".split(" "));
const HEADING = /^h[1-6]$/;

/**
 * A web page as its reader sees it: headings as in Markdown, no scripts, no markup. It takes tags as they come
 * and builds no tree: htmlparser2's `Parser` needs time with the square of a page's nesting.
 */
export function textOfHtml(html: string): string {
  const lines = new Lines();
  let hidden: string | undefined;
  const ignore = () => {};
  const tokenizer = new Tokenizer(
    {},
    {
      ontext(start, end) {
        if (hidden === undefined) lines.text(html.slice(start, end));
      },
      ontextentity(codePoint) {
        if (hidden === undefined) lines.text(String.fromCodePoint(codePoint));
      },
      onopentagname(start, end) {
        if (hidden !== undefined) return;
        const name = html.slice(start, end).toLowerCase();
        if (HIDDEN.has(name)) hidden = name;
        else lines.tag(name, false);
      },
      onclosetag(start, end) {
        const name = html.slice(start, end).toLowerCase();
        if (hidden === undefined) lines.tag(name, true);
        else if (hidden === name) hidden = undefined;
      },
      onattribdata: ignore,
      onattribentity: ignore,
      onattribend: ignore,
      onattribname: ignore,
      oncdata: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onopentagend: ignore,
      onprocessinginstruction: ignore,
      onselfclosingtag: ignore,
    },
  );
  tokenizer.write(html);
  tokenizer.end();
  return lines.toString();
}

/** Collects text, with as many line breaks as the elements around it ask for. */
class Lines {
  readonly #parts: string[] = [];
  #breaks = 0;
  #hasSpace = false;
  #preformatted = 0;
  /** A list mark or the like begins the line, and its text must follow. */
  #isMarked = false;

  text(given: string): void {
    const text = given.replace(/\u00ad/g, "");
    if (this.#preformatted > 0) {
      this.#put(text);
      return;
    }
    const words = text.replace(/[ \t\r\n\f\u00a0\u2002\u2003]+/g, " ");
    if (words === "") return;
    if (words.startsWith(" ")) this.#hasSpace = true;
    const shown = words.trim();
    if (shown === "") return;
    this.#put(shown);
    this.#hasSpace = words.endsWith(" ");
  }

  tag(name: string, isEnd: boolean): void {
    if (HEADING.test(name)) {
      this.#break(2);
      if (!isEnd) this.#mark(`${"#".repeat(Number(name[1]))} `);
    } else if (PARAGRAPHS.has(name)) {
      this.#break(2);
      if (name === "pre") this.#preformatted = Math.max(0, this.#preformatted + (isEnd ? -1 : 1));
    } else if (LINES.has(name)) {
      this.#break(1);
      if (name === "li" && !isEnd) this.#mark("- ");
    } else if ((name === "td" || name === "th") && isEnd) {
      this.#put("\t");
    }
  }

  toString(): string {
    const lines = this.#parts.join("").split("\n");
    const text = lines.map((line) => line.trimEnd()).join("\n");
    return text === "" ? "" : `${text}\n`;
  }

  #mark(text: string): void {
    if (this.#isMarked) return;
    this.#put(text);
    this.#isMarked = true;
  }

  #break(lines: number): void {
    if (this.#isMarked) return;
    this.#breaks = Math.max(this.#breaks, lines);
    this.#hasSpace = false;
  }

  #put(text: string): void {
    if (text === "") return;
    if (this.#parts.length > 0) this.#parts.push("\n".repeat(this.#breaks));
    if (this.#hasSpace && this.#breaks === 0 && !this.#isMarked) this.#parts.push(" ");
    this.#parts.push(text);
    this.#breaks = 0;
    this.#hasSpace = false;
    this.#isMarked = false;
  }
}
