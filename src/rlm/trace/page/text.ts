const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Symbols for control characters begin here. */
const PICTURES = 0x2400;
const DELETE = 0x7f;
const PICTURE_OF_DELETE = "\u2421";

/** Escapes markup, and makes control characters visible. */
export function escapeHtml(text: string): string {
  return text
    .toWellFormed()
    .replaceAll("\r\n", "\n")
    .replace(/[^\P{Cc}\t\n]/gu, pictureOf)
    .replace(/[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/g, codeOf)
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

function pictureOf(character: string): string {
  const code = character.charCodeAt(0);
  if (code === DELETE) return PICTURE_OF_DELETE;
  return code < 0x20 ? String.fromCharCode(PICTURES + code) : codeOf(character);
}

/** Direction marks can disguise a text. */
function codeOf(character: string): string {
  return `[U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`;
}

/** The first line that is not blank, shortened. */
export function gistOf(text: string, most = 140): string {
  const line = /\S.*/.exec(text.slice(0, 4 * most))?.[0] ?? "";
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

export function spellCount(count: number): string {
  return count.toLocaleString("en-US");
}

export function spellNumber(count: number, noun: string): string {
  return `${spellCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

export function spellDollars(dollars: number): string {
  if (dollars === 0) return "$0";
  if (dollars < 0.0001) return "<$0.0001";
  return `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`;
}

export function spellTime(milliseconds: number): string {
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1_000);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}
