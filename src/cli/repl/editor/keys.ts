import type { EditBuffer } from "./edit-buffer.js";

export interface Key {
  readonly sequence?: string | undefined;
  readonly name?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly meta?: boolean | undefined;
  readonly shift?: boolean | undefined;
}

type Edit = (buffer: EditBuffer) => void;

const left: Edit = (buffer) => buffer.moveTo(buffer.before);
const right: Edit = (buffer) => buffer.moveTo(buffer.after);
const wordLeft: Edit = (buffer) => buffer.moveTo(buffer.wordStart);
const wordRight: Edit = (buffer) => buffer.moveTo(buffer.wordEnd);
const home: Edit = (buffer) => buffer.moveTo(buffer.lineStart);
const end: Edit = (buffer) => buffer.moveTo(buffer.lineEnd);
const backspace: Edit = (buffer) => buffer.deleteLeft();
const deleteRight: Edit = (buffer) => buffer.replace(buffer.cursor, buffer.after, "");
const killWordLeft: Edit = (buffer) => buffer.kill(buffer.wordStart, buffer.cursor);
const newLine: Edit = (buffer) => buffer.insert("\n");

const EDITS: Readonly<Record<string, Edit>> = {
  left,
  right,
  home,
  end,
  backspace,
  delete: deleteRight,
  "ctrl-b": left,
  "ctrl-f": right,
  "ctrl-a": home,
  "ctrl-e": end,
  "ctrl-h": backspace,
  "ctrl-d": deleteRight,
  "ctrl-k": (buffer) =>
    buffer.kill(buffer.cursor, buffer.cursor === buffer.lineEnd ? buffer.after : buffer.lineEnd),
  "ctrl-u": (buffer) => buffer.kill(buffer.lineStart, buffer.cursor),
  "ctrl-w": killWordLeft,
  "ctrl-y": (buffer) => buffer.yank(),
  "ctrl-left": wordLeft,
  "ctrl-right": wordRight,
  "alt-b": wordLeft,
  "alt-f": wordRight,
  "alt-left": wordLeft,
  "alt-right": wordRight,
  "alt-d": (buffer) => buffer.kill(buffer.cursor, buffer.wordEnd),
  "alt-backspace": killWordLeft,
  "alt-return": newLine,
  "alt-enter": newLine,
};

/** Such as `ctrl-r` or `up`; a letter that is typed has its own name. */
export function nameOf({ name = "", ctrl, meta }: Key): string {
  return `${ctrl === true ? "ctrl-" : ""}${meta === true ? "alt-" : ""}${name}`;
}

export function typedBy({ sequence = "", ctrl, meta }: Key): string {
  if (ctrl === true || meta === true) return "";
  return /^[^\p{Cc}\p{Cs}]+$/u.test(sequence) ? sequence : "";
}

export function applyKey(buffer: EditBuffer, key: Key): void {
  const edit = EDITS[nameOf(key)];
  if (edit !== undefined) edit(buffer);
  else buffer.insert(typedBy(key));
}
