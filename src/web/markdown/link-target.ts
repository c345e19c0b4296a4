const LONGEST = 2000;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const SHOWN_SCHEME = /^(?:https?|mailto|ftp|tel):/i;
/** Browsers pass over these, also within a scheme. */
const LINE_ENDS = /[\t\r\n]+/g;
const PLAIN_NAME = /^[\w-]/;
const UNSAFE = /[^!-~\u00a1-\uffff]|[()<>\\]/;
const EACH_UNSAFE = new RegExp(UNSAFE, "g");

interface Base {
  readonly href: string;
  readonly protocol: string;
  readonly origin: string;
  /** Against which a plain name is read. */
  readonly folder: string;
}

/** Makes the links of a page whole. */
export class LinkTargets {
  #base: Base;

  constructor(base: URL) {
    this.#base = baseOf(base);
  }

  /** A page may say against what its links are to be read. */
  rebase(href: string): void {
    if (href.length > LONGEST || !URL.canParse(href, this.#base.href)) return;
    const base = new URL(href, this.#base.href);
    if (/^https?:$/.test(base.protocol)) this.#base = baseOf(base);
  }

  /** Undefined for what leads nowhere, or only within the page. */
  resolve(given: string): string | undefined {
    if (given.length > LONGEST) return undefined;
    const href = UNSAFE.test(given) ? tidied(given) : given;
    const whole = href === "" ? undefined : this.#whole(href);
    return whole === undefined || whole.length > LONGEST ? undefined : whole;
  }

  /** Without the parser of URLs for the usual forms, of which a page may have thousands. */
  #whole(href: string): string | undefined {
    const { protocol, origin, folder } = this.#base;
    const isNested = href.includes("/.");
    if (href.startsWith("/") && !isNested) {
      return href.startsWith("//") ? protocol + href : origin + href;
    }
    if (href.startsWith("#")) return undefined;
    if (SCHEME.test(href)) return SHOWN_SCHEME.test(href) ? href : undefined;
    if (PLAIN_NAME.test(href) && !isNested) return folder + href;
    if (!URL.canParse(href, this.#base.href)) return undefined;
    return tidied(new URL(href, this.#base.href).href);
  }
}

function baseOf({ href, protocol, origin, pathname }: URL): Base {
  const folder = origin + tidied(pathname.slice(0, pathname.lastIndexOf("/") + 1));
  return { href, protocol, origin, folder };
}

/** Without what would end the link in Markdown. */
function tidied(href: string): string {
  return href.replace(LINE_ENDS, "").trim().replace(EACH_UNSAFE, escaped);
}

function escaped(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
