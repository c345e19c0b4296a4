import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Output } from "../../backends/backend.js";
import { terminalEnvironment } from "../../config/environment.js";
import { CellarError, describeError } from "../../errors.js";
import { isTerminal } from "./terminal.js";

export type ImageProtocol = "kitty" | "iterm";
export type Display = Extract<Output, { type: "display" }>;

export interface Image {
  readonly extension: "png" | "jpg" | "gif" | "webp" | "svg";
  readonly bytes: Uint8Array;
}

const LARGEST_INLINE_BYTES = 16 * 1024 * 1024;
const KITTY_CHUNK = 4096;
const MOST_NAMES = 10_000;

const FORMATS: readonly (readonly [
  mime: string,
  extension: Image["extension"],
  starts: readonly (number | undefined)[],
])[] = [
  ["image/png", "png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/jpeg", "jpg", [0xff, 0xd8, 0xff]],
  ["image/gif", "gif", [0x47, 0x49, 0x46, 0x38]],
  ["image/webp", "webp", [0x52, 0x49, 0x46, 0x46]],
];

/** The best image of a display whose bytes match its type. */
export function imageOf({ binary, data }: Display): Image | undefined {
  for (const [mime, extension, starts] of FORMATS) {
    const bytes = binary[mime];
    if (bytes !== undefined && starts.every((byte, at) => bytes[at] === byte)) {
      return { extension, bytes };
    }
  }
  const drawing = data["image/svg+xml"];
  return drawing === undefined
    ? undefined
    : { extension: "svg", bytes: new TextEncoder().encode(drawing) };
}

export function imageProtocol(
  stream: NodeJS.WritableStream,
  environment = terminalEnvironment(),
): ImageProtocol | undefined {
  const { TERM = "", TERM_PROGRAM = "", KITTY_WINDOW_ID, LC_TERMINAL } = environment;
  if (!isTerminal(stream) || /^(tmux|screen|dumb)/.test(TERM) || TERM_PROGRAM === "tmux") {
    return undefined;
  }
  if (TERM_PROGRAM === "ghostty" || /kitty|ghostty/.test(TERM)) return "kitty";
  if (TERM_PROGRAM === "WezTerm" || TERM_PROGRAM === "iTerm.app") return "iterm";
  if (KITTY_WINDOW_ID !== undefined) return "kitty";
  return LC_TERMINAL === "iTerm2" ? "iterm" : undefined;
}

/** The escape sequence that shows the image; undefined if the terminal cannot. */
export function inlineImage(
  protocol: ImageProtocol,
  { extension, bytes }: Image,
): string | undefined {
  if (bytes.length > LARGEST_INLINE_BYTES || extension === "svg") return undefined;
  const text = Buffer.from(bytes).toString("base64");
  switch (protocol) {
    case "iterm":
      return `\u001b]1337;File=inline=1;size=${bytes.length};preserveAspectRatio=1:${text}\u0007\n`;
    case "kitty":
      return extension === "png" ? `${kittyParts(text)}\n` : undefined;
  }
}

/** `q=2` keeps the terminal from answering into our input. */
function kittyParts(text: string): string {
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += KITTY_CHUNK) {
    const more = at + KITTY_CHUNK < text.length ? 1 : 0;
    const control = at === 0 ? `a=T,f=100,q=2,m=${more}` : `m=${more}`;
    parts.push(`\u001b_G${control};${text.slice(at, at + KITTY_CHUNK)}\u001b\\`);
  }
  return parts.join("");
}

export function saveImage(folder: string, { extension, bytes }: Image): string {
  try {
    mkdirSync(folder, { recursive: true });
    for (let number = 1; number <= MOST_NAMES; number += 1) {
      const path = join(folder, `image-${number}.${extension}`);
      if (writeNew(path, bytes)) return path;
    }
    throw new Error("it holds too many images");
  } catch (error) {
    const message = `no image can be saved in ${folder}: ${describeError(error)}`;
    throw new CellarError("IO_ERROR", message, { cause: error });
  }
}

function writeNew(path: string, bytes: Uint8Array): boolean {
  try {
    writeFileSync(path, bytes, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
