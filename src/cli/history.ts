import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const KEPT_LINES = 1_000;

/** The lines typed at the prompt, kept in a file of the user. A file that cannot be kept is no error. */
export class History {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Newest first, as readline wants them. */
  load(): string[] {
    try {
      const lines = readFileSync(this.#path, "utf8").split("\n").filter(Boolean);
      const kept = lines.slice(-KEPT_LINES);
      if (lines.length > 2 * KEPT_LINES) {
        writeFileSync(this.#path, `${kept.join("\n")}\n`, { mode: 0o600 });
      }
      return kept.reverse();
    } catch {
      return [];
    }
  }

  add(line: string): void {
    if (line.trim() === "") return;
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      appendFileSync(this.#path, `${line}\n`, { mode: 0o600 });
    } catch {
      // A read-only home has no history.
    }
  }
}
