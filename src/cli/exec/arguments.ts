/** The options that both the fast path (`parseArgs`) and commander read. */
export const PLAIN_OPTIONS = [
  {
    name: "code",
    short: "c",
    type: "string",
    multiple: true,
    text: "run this code (repeatable)",
  },
  { name: "json", type: "boolean", text: "print one JSON object with the result and nothing else" },
  {
    name: "quiet",
    short: "q",
    type: "boolean",
    text: "do not print the value of the last expression",
  },
] as const;

export function splitWords(words: readonly string[]): { own: string[]; further: string[] } {
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  return { own: words.slice(0, end), further: words.slice(end + 1) };
}
