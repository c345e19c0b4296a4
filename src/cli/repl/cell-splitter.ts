/** Where a text of Python stands at its end, as far as it decides whether more must come. */
interface Position {
  /** Inside a bracket, a triple-quoted string, or after a backslash. */
  readonly open: boolean;
  /** The last statement's line announces a block. */
  readonly announces: boolean;
  /** Where the last statement begins. */
  readonly statement: string;
}

const COMPOUND =
  /^(?:@|(?:if|elif|else|for|while|def|class|with|try|except|finally|async)(?![\w.]))/;
const PAIRS: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/** True when the lines can be run as they are; false when the prompt must ask for more. */
export function isComplete(text: string): boolean {
  const lines = text.split("\n");
  const first = lines.find((line) => line.trim() !== "") ?? "";
  const endsBlank = lines.length > 1 && (lines.at(-1) ?? "").trim() === "";
  if (/^\s*%%/.test(first)) return endsBlank;
  if (/^\s*[%!?]/.test(first)) return !lines.at(-1)?.endsWith("\\");
  const { open, announces, statement } = scan(text);
  if (open) return false;
  if (endsBlank) return true;
  return !announces && !/^[ \t]/.test(statement) && !COMPOUND.test(statement);
}

/** True when a bracket, a string or a continued line waits for its end, whatever lies between. */
export function isOpen(text: string): boolean {
  return scan(text).open;
}

/** Reads like Python's tokenizer, but only for brackets, strings, comments and line ends. */
function scan(text: string): Position {
  const brackets: string[] = [];
  const length = text.trimEnd().length;
  let statementStart = 0;
  let last = "";
  let at = 0;
  while (at < text.length) {
    const character = text[at] ?? "";
    if (character === "#") {
      at = endOfLine(text, at);
    } else if (character === '"' || character === "'") {
      const end = endOfString(text, at);
      if (end === undefined) return { open: true, announces: false, statement: "" };
      last = character;
      at = end;
    } else if (character === "\\" && text[at + 1] === "\n") {
      if (at + 2 >= text.length) return { open: true, announces: false, statement: "" };
      at += 2;
    } else if (character === "\\" && at + 1 >= text.length) {
      return { open: true, announces: false, statement: "" };
    } else if (character === "\n") {
      at += 1;
      if (brackets.length === 0 && at < length) statementStart = at;
    } else {
      if (PAIRS[character] !== undefined) brackets.push(PAIRS[character]);
      else if (")]}".includes(character) && brackets.pop() !== character) {
        // A wrong bracket is an error now; no further line mends it.
        return { open: false, announces: false, statement: "" };
      }
      if (character.trim() !== "") last = character;
      at += 1;
    }
  }
  const statement = text.slice(statementStart);
  return { open: brackets.length > 0, announces: last === ":", statement };
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}

/** Just after the string that begins here; undefined when a triple-quoted one is still open. */
function endOfString(text: string, start: number): number | undefined {
  const quote = text[start] ?? "";
  const triple = text.startsWith(quote.repeat(3), start);
  const closing = triple ? quote.repeat(3) : quote;
  let at = start + closing.length;
  while (at < text.length) {
    if (text[at] === "\\") {
      if (!triple && at + 1 >= text.length) return undefined;
      at += 2;
    } else if (text.startsWith(closing, at)) {
      return at + closing.length;
    } else if (text[at] === "\n" && !triple) {
      return at;
    } else {
      at += 1;
    }
  }
  return triple ? undefined : text.length;
}

const MARKER = /^#\s?%%/;

/** Cuts lines that come through a pipe into cells. */
export class CellCutter {
  #lines: string[] = [];
  #marked = false;

  /** The cell that this line ends, if it ends one. */
  feed(line: string): string | undefined {
    if (MARKER.test(line)) {
      this.#marked = true;
      return this.flush();
    }
    if (line.trim() === "" && !this.#marked && !isOpen(`${this.#lines.join("\n")}\n`)) {
      return this.flush();
    }
    this.#lines.push(line);
    return undefined;
  }

  /** What is left when the input ends. */
  flush(): string | undefined {
    const text = this.#lines.join("\n");
    this.#lines = [];
    return text.trim() === "" ? undefined : text;
  }
}
