import type { EditBuffer } from "./edit-buffer.js";

/** A key event of `node:readline`. */
export interface Key {
  readonly sequence?: string | undefined;
  readonly name?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly meta?: boolean | undefined;
  readonly shift?: boolean | undefined;
}

type Edit = (buffer: EditBuffer) => void;

const EDITS: Readonly<Record<string, Edit>> = {
  left: (buffer) => buffer.left(),
  right: (buffer) => buffer.right(),
  home: (buffer) => buffer.lineStart(),
  end: (buffer) => buffer.lineEnd(),
  backspace: (buffer) => buffer.deleteLeft(),
  delete: (buffer) => buffer.deleteRight(),
  "ctrl-b": (buffer) => buffer.left(),
  "ctrl-f": (buffer) => buffer.right(),
  "ctrl-a": (buffer) => buffer.lineStart(),
  "ctrl-e": (buffer) => buffer.lineEnd(),
  "ctrl-h": (buffer) => buffer.deleteLeft(),
  "ctrl-d": (buffer) => buffer.deleteRight(),
  "ctrl-k": (buffer) => buffer.killLineRight(),
  "ctrl-u": (buffer) => buffer.killLineLeft(),
  "ctrl-w": (buffer) => buffer.killWordLeft(),
  "ctrl-y": (buffer) => buffer.yank(),
  "ctrl-left": (buffer) => buffer.wordLeft(),
  "ctrl-right": (buffer) => buffer.wordRight(),
  "alt-b": (buffer) => buffer.wordLeft(),
  "alt-f": (buffer) => buffer.wordRight(),
  "alt-left": (buffer) => buffer.wordLeft(),
  "alt-right": (buffer) => buffer.wordRight(),
  "alt-d": (buffer) => buffer.killWordRight(),
  "alt-backspace": (buffer) => buffer.killWordLeft(),
  "alt-return": (buffer) => buffer.insert("\n"),
  "alt-enter": (buffer) => buffer.insert("\n"),
};

/** Such as `ctrl-r` or `up`; a letter that is typed has its own name. */
export function nameOf({ name = "", ctrl, meta }: Key): string {
  return `${ctrl === true ? "ctrl-" : ""}${meta === true ? "alt-" : ""}${name}`;
}

/** What a key types, or nothing. */
export function typedBy({ sequence = "", ctrl, meta }: Key): string {
  if (ctrl === true || meta === true) return "";
  return /^[^\p{Cc}\p{Cs}]+$/u.test(sequence) ? sequence : "";
}

/** Applies the key; false if it does not edit. */
export function applyKey(buffer: EditBuffer, key: Key): boolean {
  const edit = EDITS[nameOf(key)];
  if (edit !== undefined) {
    edit(buffer);
    return true;
  }
  const typed = typedBy(key);
  if (typed !== "") buffer.insert(typed);
  return typed !== "";
}
