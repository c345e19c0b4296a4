/** What was found at an address. Text may be cut; `characters` counts all of it. */
export type WebPage = PageText | JsonDocument | PdfDocument;

export interface PageText {
  /** `page`: HTML, as Markdown. `text`: as it came. */
  readonly kind: "page" | "text";
  /** After redirects. */
  readonly url: string;
  readonly title: string | undefined;
  readonly text: string;
  readonly characters: number;
  readonly isTruncated: boolean;
}

export interface JsonDocument {
  readonly kind: "json";
  readonly url: string;
  readonly value: unknown;
}

/** Bytes for a reader of PDF; nothing here looks into them. */
export interface PdfDocument {
  readonly kind: "pdf";
  readonly url: string;
  readonly bytes: Uint8Array;
}

/** A page as it is kept: whole, and JSON as its text, so that no caller can change it for another. */
export type FoundContent =
  | {
      readonly kind: "page" | "text";
      readonly url: string;
      readonly title: string | undefined;
      readonly text: string;
      readonly isTruncated: boolean;
    }
  | { readonly kind: "json"; readonly url: string; readonly text: string }
  | PdfDocument;

export function pageOf(found: FoundContent, maxCharacters: number): WebPage {
  if (found.kind === "pdf") return found;
  if (found.kind === "json") return { kind: "json", url: found.url, value: JSON.parse(found.text) };
  const { text } = found;
  const shown = cutText(text, maxCharacters);
  return {
    ...found,
    text: shown,
    characters: text.length,
    isTruncated: found.isTruncated || shown.length < text.length,
  };
}

/** Never between the halves of a character. */
function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most);
}
