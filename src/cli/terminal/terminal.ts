import { terminalEnvironment } from "../../config/environment.js";

/** Colours are harmless; everything else that begins like this could move, write or report. */
const COLOUR_START = String.raw`\u001b\[[0-9;:]{0,64}`;
const CONTROL = String.raw`[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]`;
const UNSAFE = new RegExp(`(${COLOUR_START}m)|${CONTROL}`, "g");
const UNFINISHED_COLOUR = new RegExp(`(?:${COLOUR_START}|${String.raw`\u001b`})$`);
const RESET = "\u001b[0m";

/** Escapes control characters; colours, tabs and line ends pass. */
export function escapeControls(text: string): string {
  return text.replace(UNSAFE, (found, colour: string | undefined) => colour ?? visible(found));
}

function visible(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

/** The guest's text on its way to one of our streams: escaped for a terminal, else unchanged. */
export class GuestText {
  readonly #stream: NodeJS.WritableStream;
  readonly #escapes: boolean;
  #held = "";
  #coloured = false;
  #lineOpen = false;

  constructor(stream: NodeJS.WritableStream, escapes = isTerminal(stream)) {
    this.#stream = stream;
    this.#escapes = escapes;
  }

  write(text: string): void {
    if (text === "") return;
    this.#lineOpen = !text.endsWith("\n");
    if (!this.#escapes) {
      this.#stream.write(text);
      return;
    }
    const whole = this.#held + text;
    this.#held = UNFINISHED_COLOUR.exec(whole)?.[0] ?? "";
    this.#send(whole.slice(0, whole.length - this.#held.length));
  }

  get isLineOpen(): boolean {
    return this.#lineOpen;
  }

  /** Ends what one cell wrote, so that its colours and open lines do not reach what follows. */
  finish(endLine = false): void {
    this.#send(this.#held);
    this.#held = "";
    if (this.#coloured) this.#stream.write(RESET);
    this.#coloured = false;
    if (endLine && this.#lineOpen) this.#stream.write("\n");
    this.#lineOpen = false;
  }

  #send(text: string): void {
    if (text === "") return;
    const shown = escapeControls(text);
    this.#coloured ||= shown.includes("\u001b");
    this.#stream.write(shown);
  }
}

export function isTerminal(stream: NodeJS.WritableStream | NodeJS.ReadableStream): boolean {
  return "isTTY" in stream && stream.isTTY === true;
}

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

export type Painter = (style: keyof typeof STYLES, text: string) => string;

/** Colours on a terminal, unless NO_COLOR is set. */
export function painterFor(stream: NodeJS.WritableStream): Painter {
  const { NO_COLOR, TERM } = terminalEnvironment();
  const plain = !isTerminal(stream) || (NO_COLOR ?? "") !== "" || TERM === "dumb";
  return (style, text) => (plain ? text : `\u001b[${STYLES[style]}m${text}${RESET}`);
}

/** A shorter wait would only flicker. */
const PROGRESS_DELAY_MS = 200;

export async function withProgress<T>(
  text: string,
  work: Promise<T>,
  stream: NodeJS.WritableStream = process.stderr,
): Promise<T> {
  if (!isTerminal(stream)) return work;
  let shown = false;
  const timer = setTimeout(() => {
    shown = true;
    stream.write(painterFor(stream)("dim", text));
  }, PROGRESS_DELAY_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
    if (shown) stream.write("\r\u001b[K");
  }
}
