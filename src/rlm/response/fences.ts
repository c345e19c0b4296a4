import { type Quote, quoteAfter } from "./python-quotes.js";

/** A fenced block of a response. */
export interface Fence {
  readonly code: string;
  /** In lower case; "" if the fence names none. */
  readonly language: string;
  /** The line of the opening fence, from 1. */
  readonly line: number;
  /** Its last line, from 1. */
  readonly end: number;
  readonly isClosed: boolean;
  readonly isCode: boolean;
}

interface FenceMark {
  readonly sign: string;
  readonly length: number;
  /** Columns before the fence, including the marker of a list item. */
  readonly indent: number;
  readonly info: string;
  readonly language: string;
}

interface Content {
  readonly text: string;
  readonly isInString: boolean;
}

interface Body {
  readonly content: readonly Content[];
  readonly isClosed: boolean;
  /** The index of the line after it. */
  readonly next: number;
}

const CODE_LANGUAGES: ReadonlySet<string> = new Set([
  "",
  "repl",
  "python",
  "python3",
  "py",
  "py3",
  "ipython",
]);

/** Documents may contain fences. */
const DOCUMENT_LANGUAGES: ReadonlySet<string> = new Set(["markdown", "md"]);

const FENCE = /^([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(`{3,}|~{3,})(.*)$/;
const LANGUAGE = /^\{?\.?([\w+#-]+)/;
const TAB_STOP = 4;

/** All fenced blocks of a response, code or not. */
export function fencesIn(text: string): readonly Fence[] {
  const lines = linesOf(text);
  const fences: Fence[] = [];
  for (let at = 0; at < lines.length; ) {
    const mark = markOf(lines[at]);
    if (mark === undefined) {
      at += 1;
      continue;
    }
    const { content, isClosed, next } = bodyOf(lines, at + 1, mark);
    fences.push({
      code: unindented(content, mark.indent),
      language: mark.language,
      line: at + 1,
      end: next,
      isClosed,
      isCode: CODE_LANGUAGES.has(mark.language),
    });
    at = next;
  }
  return fences;
}

export function linesOf(text: string): string[] {
  return text.split(/\r\n?|\n/);
}

function markOf(line = ""): FenceMark | undefined {
  const [, before = "", fence = "", info = ""] = FENCE.exec(line) ?? [];
  const sign = fence.charAt(0);
  // With another backtick it is inline code.
  if (fence === "" || (sign === "`" && info.includes("`"))) return undefined;
  const word = info.trim().toLowerCase();
  const language = LANGUAGE.exec(word)?.[1] ?? word;
  return { sign, length: fence.length, indent: columnsOf(before), info, language };
}

function bodyOf(lines: readonly string[], start: number, opening: FenceMark): Body {
  if (CODE_LANGUAGES.has(opening.language)) return pythonBody(lines, start, opening);
  return otherBody(lines, start, opening, DOCUMENT_LANGUAGES.has(opening.language));
}

/** A fence inside a Python string is text; anywhere else it ends the block. */
function pythonBody(lines: readonly string[], start: number, opening: FenceMark): Body {
  const content: Content[] = [];
  let quote: Quote = "";
  for (let at = start; at < lines.length; at += 1) {
    const text = lines[at] ?? "";
    const mark = quote === "" ? markOf(text) : undefined;
    if (mark !== undefined && canClose(mark, opening)) {
      return isOpening(mark)
        ? { content, isClosed: false, next: at }
        : { content, isClosed: true, next: at + 1 };
    }
    content.push({ text, isInString: quote !== "" });
    quote = quoteAfter(text, quote);
  }
  return { content, isClosed: false, next: lines.length };
}

function otherBody(
  lines: readonly string[],
  start: number,
  opening: FenceMark,
  isDocument: boolean,
): Body {
  const content: Content[] = [];
  let isInner = false;
  for (let at = start; at < lines.length; at += 1) {
    const text = lines[at] ?? "";
    const mark = markOf(text);
    if (mark !== undefined && canClose(mark, opening)) {
      const isBare = mark.info.trim() === "";
      if (isBare && !isInner) return { content, isClosed: true, next: at + 1 };
      isInner = isDocument && !isBare;
    }
    content.push({ text, isInString: true });
  }
  return { content, isClosed: false, next: lines.length };
}

function canClose(mark: FenceMark, opening: FenceMark): boolean {
  return mark.sign === opening.sign && mark.length >= opening.length;
}

/** Whether this fence opens a block although the one before was not closed. */
function isOpening({ info, language }: FenceMark): boolean {
  return language !== "" && (CODE_LANGUAGES.has(language) || /^[\w+#-]+$/.test(info));
}

/** Removes the indentation of the fence, as far as all lines of code share it. */
function unindented(content: readonly Content[], indent: number): string {
  let columns = indent;
  for (const { text, isInString } of content) {
    if (!isInString && text.trim() !== "") columns = Math.min(columns, columnsOf(leading(text)));
  }
  return content.map(({ text }) => withoutColumns(text, columns)).join("\n");
}

function leading(text: string): string {
  return /^[ \t]*/.exec(text)?.[0] ?? "";
}

function columnsOf(text: string): number {
  let columns = 0;
  for (const char of text) columns = char === "\t" ? nextStop(columns) : columns + 1;
  return columns;
}

function withoutColumns(text: string, columns: number): string {
  let column = 0;
  let at = 0;
  while (column < columns && (text[at] === " " || text[at] === "\t")) {
    column = text[at] === "\t" ? nextStop(column) : column + 1;
    at += 1;
  }
  return text.slice(at);
}

function nextStop(column: number): number {
  return column - (column % TAB_STOP) + TAB_STOP;
}
