/** What these hold is not shown to readers. */
const UNSEEN = new Set(["script", "style", "template", "noscript", "svg", "math", "iframe"]);
const PARAGRAPHS = new Set(
  "p div section article main header footer aside nav table ul ol dl pre blockquote figure form fieldset details title body hr".split(
    " ",
  ),
);
const LINES = new Set("br li tr dt dd option figcaption summary caption legend address".split(" "));
const HEADING = /^h[1-6]$/;

const ENTITY = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/g;
const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", shy: "", ensp: " ", emsp: " " },
  ...{ ndash: "–", mdash: "—", hellip: "…", bull: "•", middot: "·", laquo: "«", raquo: "»" },
  ...{ lsquo: "‘", rsquo: "’", sbquo: "‚", ldquo: "“", rdquo: "”", bdquo: "„", prime: "′" },
  ...{ copy: "©", reg: "®", trade: "™", deg: "°", sect: "§", para: "¶", euro: "€", pound: "£" },
  ...{ times: "×", divide: "÷", plusmn: "±", minus: "−", le: "≤", ge: "≥", ne: "≠", micro: "µ" },
  ...{ larr: "←", rarr: "→", uarr: "↑", darr: "↓", infin: "∞", check: "✓", cent: "¢", yen: "¥" },
  ...{ auml: "ä", ouml: "ö", uuml: "ü", Auml: "Ä", Ouml: "Ö", Uuml: "Ü", szlig: "ß" },
  ...{ aacute: "á", eacute: "é", iacute: "í", oacute: "ó", uacute: "ú", Eacute: "É" },
  ...{ agrave: "à", egrave: "è", igrave: "ì", ograve: "ò", ugrave: "ù", ccedil: "ç" },
  ...{ acirc: "â", ecirc: "ê", icirc: "î", ocirc: "ô", ucirc: "û", ntilde: "ñ", oslash: "ø" },
  ...{ aring: "å", aelig: "æ", oelig: "œ", Aring: "Å", Oslash: "Ø", AElig: "Æ", Ccedil: "Ç" },
};

/** A web page as its reader sees it: headings as in Markdown, no scripts, no markup. */
export function textOfHtml(html: string): string {
  const lines = new Lines();
  // A bracket before anything else is text.
  const markup = /<(?:[!?]|(\/?)([a-zA-Z][^\s/>]*))/g;
  let at = 0;
  while (at < html.length) {
    markup.lastIndex = at;
    const tag = markup.exec(html);
    lines.say(entitiesIn(html.slice(at, tag?.index)));
    if (tag === null) break;
    at = tag.index;
    const name = tag[2]?.toLowerCase();
    if (html.startsWith("<!--", at)) {
      at = behind(html, "-->", at + 4);
    } else if (name === undefined) {
      at = behind(html, ">", at);
    } else {
      at = tagEnd(html, markup.lastIndex);
      if (tag[1] === "" && UNSEEN.has(name)) at = closing(html, name, at);
      else lines.heed(name, tag[1] === "/");
    }
  }
  return lines.text();
}

/** The text that comes of it, with as many breaks as its parts ask for. */
class Lines {
  readonly #parts: string[] = [];
  #breaks = 0;
  #hasSpace = false;
  #preformatted = 0;
  /** A mark such as that of a list stands at the beginning of the line, and its text must follow. */
  #isMarked = false;

  say(text: string): void {
    if (this.#preformatted > 0) {
      this.#put(text);
      return;
    }
    const words = text.replace(/[ \t\r\n\f]+/g, " ");
    if (words === "") return;
    if (words.startsWith(" ")) this.#hasSpace = true;
    const shown = words.trim();
    if (shown === "") return;
    this.#put(shown);
    this.#hasSpace = words.endsWith(" ");
  }

  heed(name: string, isEnd: boolean): void {
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

  text(): string {
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

/** Behind the bracket that closes a tag; those within quotes do not. */
function tagEnd(html: string, from: number): number {
  let at = from;
  while (at < html.length) {
    const character = html[at];
    at += 1;
    if (character === ">") return at;
    if ((character === '"' || character === "'") && html[at - 2] === "=") {
      at = behind(html, character, at);
    }
  }
  return at;
}

function closing(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}[\\s/>]`, "gi");
  end.lastIndex = from;
  return end.test(html) ? behind(html, ">", end.lastIndex - 1) : html.length;
}

function behind(html: string, mark: string, from: number): number {
  const at = html.indexOf(mark, from);
  return at < 0 ? html.length : at + mark.length;
}

function entitiesIn(text: string): string {
  return text.replace(ENTITY, (found, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] ?? "") : found;
    const code = Number.parseInt(decimal ?? hex ?? "", decimal === undefined ? 16 : 10);
    const isText = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isText ? String.fromCodePoint(code) : "\ufffd";
  });
}
