const ESCAPE = "\u001b";
const COLOUR = new RegExp(`${ESCAPE}\\[[0-9;:]*m`, "g");
const UNSEEN = String.raw`[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]`;
const CONTROL = new RegExp(UNSEEN, "g");

/** Text without the sequences that colour it on a terminal. */
export function withoutColours(text: string): string {
  return text.replace(COLOUR, "");
}

/** Text for a record: no colours, line ends of one kind, other controls visible. */
export function printable(text: string): string {
  return withoutColours(text)
    .replaceAll("\r\n", "\n")
    .replaceAll("\r", "\n")
    .replace(CONTROL, (found) => `\\x${found.charCodeAt(0).toString(16).padStart(2, "0")}`);
}
