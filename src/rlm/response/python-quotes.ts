/** The quotes of an open Python string; "" outside of strings. */
export type Quote = "" | "'" | '"' | "'''" | '"""';

/** The string that is still open after a line. */
export function quoteAfter(line: string, open: Quote): Quote {
  let quote = open;
  let at = 0;
  while (at < line.length) {
    const char = line.charAt(at);
    if (char === "\\") at += 2;
    else if (quote !== "") {
      const isEnd = line.startsWith(quote, at);
      at += isEnd ? quote.length : 1;
      if (isEnd) quote = "";
    } else if (char === "#") return "";
    else {
      quote = quoteAt(line, at);
      at += Math.max(quote.length, 1);
    }
  }
  // A string with single quotes ends with its line, unless a backslash continues it.
  return quote.length === 1 && at === line.length ? "" : quote;
}

/** The quotes at this position. */
export function quoteAt(text: string, at: number): Quote {
  if (text.startsWith('"""', at)) return '"""';
  if (text.startsWith("'''", at)) return "'''";
  if (text.startsWith('"', at)) return '"';
  return text.startsWith("'", at) ? "'" : "";
}
