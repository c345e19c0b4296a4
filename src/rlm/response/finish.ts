import { type Fence, fencesIn } from "./fences.js";
import { quoteAt } from "./python-quotes.js";

/** A final answer in a response without code. */
export type ProseFinish =
  | { readonly via: "FINAL"; readonly text: string }
  /** A valid Python name; the variable may not exist. */
  | { readonly via: "FINAL_VAR"; readonly name: string };

interface Argument {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** A call without an end is read to the end of the response, so tries are limited. */
const MOST_TRIES = 32;

const CALL = /^ {0,3}(FINAL|FINAL_VAR)\(/;
const NAME = /^[\p{ID_Start}_]\p{ID_Continue}*$/u;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "\n": "" };

/** The first FINAL at the beginning of a line outside of fences. */
export function finishIn(
  text: string,
  fences: readonly Fence[] = fencesIn(text),
): ProseFinish | undefined {
  let tries = 0;
  for (const { text: line, start } of proseLines(text, fences)) {
    const [call, via] = CALL.exec(line) ?? [];
    if (call === undefined) continue;
    const argument = argumentOf(text.slice(start + call.length));
    const finish = argument && finishOf(via === "FINAL" ? "FINAL" : "FINAL_VAR", argument);
    if (finish !== undefined) return finish;
    tries += 1;
    if (tries === MOST_TRIES) return undefined;
  }
  return undefined;
}

function* proseLines(
  text: string,
  fences: readonly Fence[],
): Generator<{ text: string; start: number }> {
  let number = 0;
  let next = 0;
  for (const { 0: match, index } of text.matchAll(/[^\r\n]*(?:\r\n?|\n|$)/g)) {
    number += 1;
    while ((fences[next]?.end ?? Number.POSITIVE_INFINITY) < number) next += 1;
    const isFenced = (fences[next]?.line ?? Number.POSITIVE_INFINITY) <= number;
    if (!isFenced) yield { text: match, start: index };
  }
}

function finishOf(via: ProseFinish["via"], { text, isQuoted }: Argument): ProseFinish | undefined {
  switch (via) {
    case "FINAL":
      return text === "" ? undefined : { via, text };
    case "FINAL_VAR": {
      const name = isQuoted ? text : text.replace(/^`([^`]*)`$/, "$1");
      return NAME.test(name) ? { via, name } : undefined;
    }
    default:
      return via satisfies never;
  }
}

/** The text between the parentheses; `rest` begins after the first. */
function argumentOf(rest: string): Argument | undefined {
  const literal = literalOf(rest);
  if (literal !== undefined) return { text: literal, isQuoted: true };
  const end = balancedEnd(rest, true) ?? balancedEnd(rest, false) ?? lineEnd(rest);
  if (end === undefined) return undefined;
  return { text: rest.slice(0, end).replace(/\r\n?/g, "\n").trim(), isQuoted: false };
}

/** The content of an argument that is a single Python string. */
function literalOf(rest: string): string | undefined {
  const start = rest.search(/\S/);
  const quote = start < 0 ? "" : quoteAt(rest, start);
  if (quote === "") return undefined;
  let text = "";
  for (let at = start + quote.length; at < rest.length; at += 1) {
    if (rest.startsWith(quote, at)) {
      const isAll = /^\s*(?:,\s*)?\)/.test(rest.slice(at + quote.length));
      return isAll ? text.replace(/\r\n?/g, "\n") : undefined;
    }
    const char = rest.charAt(at);
    if (char === "\\") {
      at += 1;
      text += ESCAPES[rest.charAt(at)] ?? unknownEscape(rest.charAt(at));
    } else text += char;
  }
  return undefined;
}

/** Other backslashes stay: answers contain many that are not Python escapes. */
function unknownEscape(char: string): string {
  return char === "\\" || char === '"' || char === "'" ? char : `\\${char}`;
}

/** The position of the closing parenthesis. With `skipsQuotes`, those in quotes do not count. */
function balancedEnd(rest: string, skipsQuotes: boolean): number | undefined {
  /** Quotes that have no partner before this position. */
  const unpaired = new Map<string, number>();
  let depth = 1;
  for (let at = 0; at < rest.length; at += 1) {
    const char = rest.charAt(at);
    if (char === "(") depth += 1;
    else if (char === ")") depth -= 1;
    else if (skipsQuotes && isQuote(rest, at) && at >= (unpaired.get(char) ?? 0)) {
      const { end, isPair } = quotedEnd(rest, at);
      if (isPair) at = end;
      else unpaired.set(char, end);
    }
    if (depth === 0) return at;
  }
  return undefined;
}

/** Whether this is an opening quote, not an apostrophe within a word. */
function isQuote(rest: string, at: number): boolean {
  const char = rest.charAt(at);
  if (char === "'") return !/\w/.test(rest.charAt(at - 1));
  return char === '"' || char === "`";
}

/** The closing quote, or the end of the line. */
function quotedEnd(rest: string, at: number): { end: number; isPair: boolean } {
  const quote = rest.charAt(at);
  let end = at + 1;
  for (; end < rest.length; end += 1) {
    const char = rest.charAt(end);
    if (char === "\n" || char === "\r") break;
    const isPair = char === quote && (quote !== "'" || !/\w/.test(rest.charAt(end + 1)));
    if (isPair) return { end, isPair };
  }
  return { end, isPair: false };
}

/** For unbalanced text such as "(0, 1]": the first parenthesis at the end of a line. */
function lineEnd(rest: string): number | undefined {
  const end = rest.search(/\)[ \t]*(?:\r|\n|$)/);
  return end < 0 ? undefined : end;
}
