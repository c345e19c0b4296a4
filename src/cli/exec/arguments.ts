/** A command line up to `--`, and what is behind it. */
export function splitWords(words: readonly string[]): { own: string[]; further: string[] } {
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  return { own: words.slice(0, end), further: words.slice(end + 1) };
}
