import type { ModelMessage } from "./model.js";
import { summaryMessage } from "./prompts.js";

/** The last answer and its output are kept. */
const KEPT_MESSAGES = 2;

/** The messages between a loop and its model. */
export class Conversation {
  /** Never changed in place: models may keep a reference. */
  #messages: readonly ModelMessage[] = [];
  /** The current question, and the index of its message. */
  #question = { text: "", at: 0 };

  get messages(): readonly ModelMessage[] {
    return this.#messages;
  }

  begin(system: string, question: string): void {
    if (this.#messages.length === 0) this.#messages = [{ role: "system", content: system }];
    this.#add("user", question);
    this.#question = { text: question, at: this.#messages.length - 1 };
  }

  hear(content: string): void {
    this.#messages = [...this.#messages, { role: "assistant", content }];
  }

  tell(content: string): void {
    this.#add("user", content);
  }

  /** How many messages a summary would replace. */
  get foldable(): number {
    return Math.max(0, this.#messages.length - 2 - this.#kept.length);
  }

  /** Replaces everything but the question and the last exchange by a summary. */
  fold(summary: string): void {
    const [system] = this.#messages;
    if (system === undefined) return;
    const { text } = this.#question;
    const content = summaryMessage(text, summary);
    this.#messages = [system, { role: "user", content }, ...this.#kept];
    this.#question = { text, at: 1 };
  }

  /** Nothing from before the question. */
  get #kept(): readonly ModelMessage[] {
    const first = this.#messages.length - KEPT_MESSAGES;
    return this.#question.at < first ? this.#messages.slice(first) : [];
  }

  /** Merged, because some endpoints reject two messages of one role in a row. */
  #add(role: "user", content: string): void {
    const last = this.#messages.at(-1);
    const isSame = last?.role === role;
    const message = { role, content: isSame ? `${last.content}\n\n${content}` : content };
    this.#messages = [...this.#messages.slice(0, isSame ? -1 : undefined), message];
  }
}
