import { quoteAt } from "./python-quotes.js";

/** Each end of a cell, and each name in it, is looked for in all of the code. */
const MOST_LOOKS = 32;

const CALL = /(?<![\w.])(?:FINAL|SUBMIT)\s*\(/g;
const ANSWER = /(?<![\w.])answer\s*(?:\[\s*["']content["']\s*\]\s*)?=(?!=)/g;
const NAMED = /(?<![\w.])FINAL_VAR\s*\(\s*["']?(\w*)/g;
/** Where a name is looked at and not changed. */
const SHOWN =
  /(?<![\w.])(?:print|FINAL|FINAL_VAR|SUBMIT)\s*\([^()]*\)|^answer\b[^\n]*$|^[ \t]*\w+[ \t]*$/gm;
const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/**
 * Whether a cell gives an answer that was written before the cell ran: all that it finishes with
 * are constants, or names of constants that it or a block of the response before it wrote down.
 * Python's own grammar would know more; what this does not see counts as computed.
 */
export function isForegone(code: string, before: readonly string[] = []): boolean {
  const response = [...before, code].join("\n");
  const known = new Map<string, boolean>();
  const isKnown = (name: string): boolean => {
    const isOne = known.get(name) ?? (known.size < MOST_LOOKS && isWrittenDown(name, response));
    known.set(name, isOne);
    return isOne;
  };
  const calls = [...code.matchAll(CALL)].map((found) => ({ found, inCall: true }));
  const answers = [...code.matchAll(ANSWER)].map((found) => ({ found, inCall: false }));
  const named = [...code.matchAll(NAMED)];
  const count = calls.length + answers.length + named.length;
  if (count === 0 || count > MOST_LOOKS) return false;
  return (
    named.every(([, name = ""]) => isKnown(name)) &&
    [...calls, ...answers].every(({ found, inCall }) =>
      isConstant(code, { start: found.index + found[0].length, inCall, isKnown }),
    )
  );
}

interface Expression {
  readonly start: number;
  readonly inCall: boolean;
  /** Whether a name stands for a constant. */
  isKnown(name: string): boolean;
}

/** Reads to the end of the call or statement; false where a name is found that must be looked up. */
function isConstant(code: string, { start, inCall, isKnown }: Expression): boolean {
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
      if (word !== "" && !isConstantWord(word) && !isKnown(word)) return false;
      hasValue ||= word !== "";
      at += Math.max(word.length, 1);
    }
  }
  return hasValue && open.length === 0;
}

/** Whether a name is given a constant, once and at the outermost level, and is only shown elsewhere. */
function isWrittenDown(name: string, code: string): boolean {
  if (!/^[A-Za-z_]\w*$/.test(name)) return false;
  const bare = withoutTexts(code);
  const [assignment, ...others] = bare.matchAll(new RegExp(`^${name}[ \\t]*=(?!=)`, "gm"));
  if (assignment === undefined || others.length > 0) return false;
  const { 0: target, index } = assignment;
  const start = index + target.length;
  const rest = `${bare.slice(0, index)}${" ".repeat(target.length)}${bare.slice(start)}`;
  if (new RegExp(`(?<!\\w)${name}(?!\\w)`).test(rest.replace(SHOWN, ""))) return false;
  return isConstant(code, { start, inCall: false, isKnown: () => false });
}

/** With blanks for what strings and comments say; everything else stays at its place. */
function withoutTexts(code: string): string {
  let bare = "";
  while (bare.length < code.length) {
    const at = bare.length;
    const quote = quoteAt(code, at);
    if (quote !== "") bare += " ".repeat(endOfString(code, at, quote) - at);
    else if (code.charAt(at) === "#") bare += " ".repeat(endOfLine(code, at) - at);
    else bare += code.charAt(at);
  }
  return bare;
}

function endOfLine(code: string, at: number): number {
  const end = code.indexOf("\n", at);
  return end < 0 ? code.length : end;
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
