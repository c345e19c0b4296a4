import type { Exchange, PlainRequest } from "./cassette.js";

const LINES_AROUND = 2;
const LONGEST_LINE = 200;

export interface Divergence {
  /** The index of the first message that differs; undefined if only settings differ. */
  readonly message: number | undefined;
  readonly text: string;
}

/** Where a request first differs from the recorded one, as text for people. */
export function divergenceBetween(recorded: PlainRequest, asked: PlainRequest): Divergence {
  const { messages } = recorded;
  const most = Math.max(messages.length, asked.messages.length);
  for (let index = 0; index < most; index += 1) {
    const before = messages[index];
    const now = asked.messages[index];
    if (before?.role === now?.role && before?.content === now?.content) continue;
    const place = `message ${index + 1}`;
    if (before === undefined || now === undefined) {
      const text =
        before === undefined
          ? `${place} (${now?.role}) is not in the recording:\n${side("+", now?.content)}`
          : `${place} (${before.role}) of the recording is missing:\n${side("-", before.content)}`;
      return { message: index, text };
    }
    const role = before.role === now.role ? before.role : `${before.role}, now ${now.role}`;
    return {
      message: index,
      text: `${place} (${role}) differs${diff(before.content, now.content)}`,
    };
  }
  const settings = (["maxTokens", "temperature", "stop"] as const).flatMap((name) => {
    const [before, now] = [recorded[name], asked[name]].map((value) => JSON.stringify(value));
    return before === now ? [] : [`${name} was ${before ?? "not set"}, now ${now ?? "not set"}`];
  });
  return { message: undefined, text: settings.join("; ") };
}

/** The exchange that shares the longest beginning with a request. */
export function closest(
  candidates: readonly Exchange[],
  asked: PlainRequest,
): Exchange | undefined {
  let best: Exchange | undefined;
  let longest = -1;
  for (const candidate of candidates) {
    const length = agreement(candidate.request, asked);
    if (length <= longest) continue;
    best = candidate;
    longest = length;
  }
  return best;
}

function agreement(one: PlainRequest, other: PlainRequest): number {
  let length = 0;
  for (const [index, message] of one.messages.entries()) {
    const text = other.messages[index]?.content ?? "";
    const same = commonStart(message.content, text);
    length += same;
    if (same < message.content.length || same < text.length) break;
  }
  return length;
}

function commonStart(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let length = 0;
  while (length < most && one.charCodeAt(length) === other.charCodeAt(length)) length += 1;
  return length;
}

function diff(before: string, now: string): string {
  if (before === now) return "";
  const [old, fresh] = [before.split("\n"), now.split("\n")];
  const least = Math.min(old.length, fresh.length);
  let line = 0;
  while (line < least && old[line] === fresh[line]) line += 1;
  let same = 0;
  while (same < least - line && old.at(-1 - same) === fresh.at(-1 - same)) same += 1;
  const start = Math.max(0, line - LINES_AROUND);
  const column = commonStart(old[line] ?? "", fresh[line] ?? "");
  const behind = old.slice(old.length - same, old.length - same + LINES_AROUND);
  return [
    ` at line ${line + 1}:`,
    ...old.slice(start, line).map((text) => `  ${shorten(text, 0)}`),
    ...sideLines("-", old.slice(line, old.length - same), column),
    ...sideLines("+", fresh.slice(line, fresh.length - same), column),
    ...behind.map((text) => `  ${shorten(text, 0)}`),
  ].join("\n");
}

function side(sign: string, content = ""): string {
  return sideLines(sign, content.split("\n"), 0).join("\n");
}

/** The first line is shown around `column`. */
function sideLines(sign: string, lines: readonly string[], column: number): string[] {
  const shown = lines
    .slice(0, LINES_AROUND + 1)
    .map((text, index) => `${sign} ${shorten(text, index === 0 ? column : 0)}`);
  const more = lines.length - shown.length;
  return [...shown, ...(more > 0 ? [`${sign} … ${more} more lines`] : [])];
}

function shorten(text: string, column: number): string {
  const start = column < LONGEST_LINE - 40 ? 0 : column - 40;
  const shown = text.slice(start, start + LONGEST_LINE);
  return `${start > 0 ? "…" : ""}${shown}${start + LONGEST_LINE < text.length ? "…" : ""}`;
}
