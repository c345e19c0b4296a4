import { quoteAt } from "./python-quotes.js";

const CALL = /(?<![\w.])(?:FINAL|SUBMIT)\s*\(/g;
const ANSWER = /(?<![\w.])answer\s*(?:\[\s*["']content["']\s*\]\s*)?=(?!=)/g;
const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/**
 * Whether a cell gives an answer that was written before the cell ran: all that it finishes with
 * are constants. Python's own grammar would know more; what this does not see counts as computed.
 */
export function isForegone(code: string): boolean {
  const given = [
    ...[...code.matchAll(CALL)].map(({ 0: call, index }) => ({
      start: index + call.length,
      inCall: true,
    })),
    ...[...code.matchAll(ANSWER)].map(({ 0: call, index }) => ({
      start: index + call.length,
      inCall: false,
    })),
  ];
  return given.length > 0 && given.every(({ start, inCall }) => isConstant(code, start, inCall));
}

/** Reads to the end of the call or statement; false where a name is found that must be looked up. */
function isConstant(code: string, start: number, inCall: boolean): boolean {
  const open: string[] = inCall ? [")"] : [];
  let hasValue = false;
  let at = start;
  while (at < code.length) {
    const char = code.charAt(at);
    const quote = quoteAt(code, at);
    if (quote !== "") {
      at = endOfString(code, at, quote);
      hasValue = true;
    } else if (char in CLOSING) {
      open.push(CLOSING[char] ?? "");
      hasValue = true;
      at += 1;
    } else if (char === open.at(-1)) {
      open.pop();
      at += 1;
      if (inCall && open.length === 0) return hasValue;
    } else if (open.length === 0 && /[\n;#]/.test(char)) {
      return hasValue;
    } else {
      const word = /^(?:[\w.]+)(?:\s*=(?!=))?/.exec(code.slice(at, at + 200))?.[0] ?? "";
      if (word !== "" && !isConstantWord(word)) return false;
      hasValue ||= word !== "";
      at += Math.max(word.length, 1);
    }
  }
  return hasValue && open.length === 0;
}

/** A number, a constant, the name of a field, or the letters before a string without places to fill. */
function isConstantWord(word: string): boolean {
  return /^(?:\d[\w.]*|True|False|None|[rRbBuU]{1,2}|\w+\s*=)$/.test(word);
}

function endOfString(code: string, start: number, quote: string): number {
  let at = start + quote.length;
  while (at < code.length && !code.startsWith(quote, at)) at += code.charAt(at) === "\\" ? 2 : 1;
  return at + quote.length;
}
