import { WordTable } from "./word-table.js";

/** What an element is to the writer of Markdown. */
export type ElementKind =
  | "heading"
  | "block"
  | "break"
  | "rule"
  | "item"
  | "term"
  | "list"
  | "ordered-list"
  | "quote"
  | "code-block"
  | "code"
  | "strong"
  | "emphasis"
  | "link"
  | "image"
  | "table"
  | "row"
  | "cell"
  | "title"
  | "base"
  | "form"
  | "main"
  | "article"
  | "raw"
  | "hidden";

const NAMES: Readonly<Record<ElementKind, string>> = {
  heading: "h1 h2 h3 h4 h5 h6",
  block:
    "p div section header address figure figcaption details summary fieldset legend hgroup dl center body caption",
  break: "br",
  rule: "hr",
  item: "li",
  term: "dt dd",
  list: "ul menu dir",
  "ordered-list": "ol",
  quote: "blockquote",
  "code-block": "pre listing xmp",
  code: "code kbd samp tt",
  strong: "b strong",
  emphasis: "i em",
  link: "a",
  image: "img",
  table: "table",
  row: "tr",
  cell: "td th",
  title: "title",
  base: "base",
  form: "form",
  main: "main",
  article: "article",
  raw: "script style iframe noembed noframes",
  hidden:
    "template noscript svg math object canvas audio video select textarea button datalist nav footer aside dialog",
};

/** Attributes that are looked at, by kind; the others are passed over unread. */
const CONTAINER = "class id role hidden aria-hidden";
const ATTRIBUTES: Readonly<Partial<Record<ElementKind, string>>> = {
  block: CONTAINER,
  list: CONTAINER,
  "ordered-list": CONTAINER,
  table: CONTAINER,
  link: "href hidden",
  image: "src alt",
  cell: "colspan",
  "code-block": "class",
  code: "class",
  base: "href",
};

const INLINE: ReadonlySet<ElementKind> = new Set([
  "code",
  "strong",
  "emphasis",
  "link",
  "image",
  "break",
  "title",
  "base",
]);
const LINES: ReadonlySet<ElementKind> = new Set(["item", "term", "row", "cell"]);

export interface Element {
  readonly name: string;
  readonly kind: ElementKind;
  readonly attributes: ReadonlySet<string> | undefined;
  /** Whether it is part of a line of text. */
  readonly isInline: boolean;
  /** Whether it is a block without an empty line before and behind it. */
  readonly isLine: boolean;
}

/** Both are found at their places in a page. */
export const ELEMENTS = new WordTable<Element>(
  Object.entries(NAMES).flatMap(([key, names]) => {
    const kind = key as ElementKind;
    const attributes = setOf(ATTRIBUTES[kind]);
    const isInline = INLINE.has(kind);
    const isLine = LINES.has(kind);
    return names
      .split(" ")
      .map((name) => [name, { name, kind, attributes, isInline, isLine }] as const);
  }),
);

export const ATTRIBUTE_NAMES = new WordTable<string>(
  [...new Set(Object.values(ATTRIBUTES).flatMap((names) => names.split(" ")))].map(
    (name) => [name, name] as const,
  ),
);

function setOf(names: string | undefined): ReadonlySet<string> | undefined {
  return names === undefined ? undefined : new Set(names.split(" "));
}

const BOILERPLATE =
  /(?:^|[\s_-])(?:nav|navbar|navigation|menu|sidebar|breadcrumbs?|cookies?|consent|footer|share|sharing|social|ads?|advert|advertisement|promo|newsletter|subscribe|popup|modal|toolbar|skip)(?:$|[\s_-])/i;
const BOILERPLATE_ROLE =
  /^(?:navigation|banner|contentinfo|complementary|search|dialog|alert|menu)$/i;
const LONGEST_CLASS = 200;

/** Whether a container's class, id or role says that it is not what the page is about. */
export function isBoilerplate(attributes: ReadonlyMap<string, string>): boolean {
  if (attributes.size === 0) return false;
  const names = `${attributes.get("class") ?? ""} ${attributes.get("id") ?? ""}`;
  if (names.length > 1 && BOILERPLATE.test(names.slice(0, LONGEST_CLASS))) return true;
  const role = attributes.get("role");
  return role !== undefined && BOILERPLATE_ROLE.test(role);
}

export function isHidden(attributes: ReadonlyMap<string, string>): boolean {
  if (attributes.size === 0) return false;
  return attributes.has("hidden") || attributes.get("aria-hidden") === "true";
}
