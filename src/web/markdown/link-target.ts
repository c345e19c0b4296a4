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
    const href = given.replace(LINE_ENDS, "").trim();
    if (href === "" || href.length > LONGEST) return undefined;
    const whole = this.#whole(href);
    if (whole === undefined || whole.length > LONGEST) return undefined;
    return UNSAFE.test(whole) ? whole.replace(EACH_UNSAFE, escaped) : whole;
  }

  /** Without the parser of URLs for the usual forms, of which a page may have thousands. */
  #whole(href: string): string | undefined {
    const { protocol, origin, folder } = this.#base;
    const isNested = href.includes("/.");
    if (href.startsWith("/") && !isNested) return href[1] === "/" ? protocol + href : origin + href;
    if (href.startsWith("#")) return undefined;
    if (SCHEME.test(href)) return SHOWN_SCHEME.test(href) ? href : undefined;
    if (PLAIN_NAME.test(href) && !isNested) return folder + href;
    return URL.canParse(href, this.#base.href) ? new URL(href, this.#base.href).href : undefined;
  }
}

function baseOf({ href, protocol, origin, pathname }: URL): Base {
  const folder = origin + pathname.slice(0, pathname.lastIndexOf("/") + 1);
  return { href, protocol, origin, folder };
}

function escaped(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
