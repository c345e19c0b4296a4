import { isArgumentName } from "../../backends/host-tools/names.js";

const LONGEST_NAME = 64;

/** A name that Python takes: `get-issue` becomes `get_issue`, `2fa` with the word `tool` becomes `tool_2fa`. */
export function pythonName(text: string, word: string): string {
  const letters = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .replace(/[^A-Za-z0-9_]+/g, "_")
    .slice(0, LONGEST_NAME)
    .replace(/^_+|_+$/g, "");
  if (letters === "") return word;
  const name = /^\d/.test(letters) ? `${word}_${letters}`.slice(0, LONGEST_NAME) : letters;
  return isArgumentName(name) ? name : `${name}_`;
}

/** Gives each name once: what another has already gets a number. */
export class PythonNames {
  readonly #word: string;
  readonly #taken = new Set<string>();

  constructor(word: string) {
    this.#word = word;
  }

  take(text: string): string {
    const wanted = pythonName(text, this.#word);
    let name = wanted;
    for (let number = 2; this.#taken.has(name); number++) name = `${wanted}_${number}`;
    this.#taken.add(name);
    return name;
  }
}
