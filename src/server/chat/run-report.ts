import type { TraceEvent } from "../../rlm/trace/events.js";

const LONGEST_CODE = 2_000;
const LONGEST_OUTPUT = 600;

/** Progress of a run in Markdown, for a client that waits. */
export class RunReport {
  #questions = 0;

  /** Empty if there is nothing to report. Sub-runs are only counted, as questions. */
  textFor(event: TraceEvent): string {
    if (event.type === "sub.started") {
      this.#questions += 1;
      return "";
    }
    if (event.depth > 0) return "";
    switch (event.type) {
      case "turn.started": {
        const of = event.turns === undefined ? "" : ` of ${event.turns}`;
        return `**Turn ${event.turn}${of}**\n\n`;
      }
      case "code.started":
        return fenced("python", cut(event.code, LONGEST_CODE));
      case "code.output":
        return this.#subQuestions() + fenced("", cut(event.observation, LONGEST_OUTPUT));
      default:
        return "";
    }
  }

  #subQuestions(): string {
    const count = this.#questions;
    this.#questions = 0;
    if (count === 0) return "";
    return `It asked ${count === 1 ? "1 question" : `${count} questions`} of other models.\n\n`;
  }
}

/** Longer than any fence within. */
function fenced(language: string, text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}\n\n`;
}

function cut(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit).toWellFormed()}\n…` : text;
}
