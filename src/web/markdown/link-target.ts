const LONGEST = 2000;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const SHOWN_SCHEME = /^(?:https?|mailto|ftp|tel):/i;
const UNSAFE = /[\s()<>\\\0-\x20\x7f]/g;

/** Makes the links of a page whole. */
export class LinkTargets {
  #base: URL;
  #folder: string;

  constructor(base: URL) {
    this.#base = base;
    this.#folder = folderOf(base);
  }

  /** A page may say against what its links are to be read. */
  rebase(href: string): void {
    if (href.length > LONGEST || !URL.canParse(href, this.#base.href)) return;
    const base = new URL(href, this.#base.href);
    if (!/^https?:$/.test(base.protocol)) return;
    this.#base = base;
    this.#folder = folderOf(base);
  }

  /** Undefined for what leads nowhere, or only within the page. */
  resolve(given: string): string | undefined {
    const href = given.trim();
    if (href === "" || href.startsWith("#") || href.length > LONGEST) return undefined;
    const whole = this.#whole(href);
    return whole !== undefined && whole.length <= LONGEST && SHOWN_SCHEME.test(whole)
      ? whole.replace(UNSAFE, escaped)
      : undefined;
  }

  /** Without the parser of URLs for the usual forms, of which a page may have thousands. */
  #whole(href: string): string | undefined {
    if (href.startsWith("//")) return this.#base.protocol + href;
    if (href.startsWith("/") && !href.includes("/.")) return this.#base.origin + href;
    if (SCHEME.test(href)) return href;
    if (/^[\w-]/.test(href) && !href.includes("/.")) return this.#folder + href;
    return URL.canParse(href, this.#base.href) ? new URL(href, this.#base.href).href : undefined;
  }
}

function folderOf({ origin, pathname }: URL): string {
  return origin + pathname.slice(0, pathname.lastIndexOf("/") + 1);
}

function escaped(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
