import type { ModelMessage } from "./model.js";
import { summaryMessage } from "./prompts.js";

/** The last answer and what came of it stay as they are. */
const KEPT_MESSAGES = 2;

/** What a loop and its model have said to each other. */
export class Conversation {
  /** Never changed in place: models may keep what they were sent. */
  #messages: readonly ModelMessage[] = [];
  /** The present question as it was asked, and where it stands. */
  #question = { text: "", at: 0 };

  get messages(): readonly ModelMessage[] {
    return this.#messages;
  }

  /** A question; what was said about those before it stays. */
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

  /** How many messages a summary would stand for. */
  get foldable(): number {
    return Math.max(0, this.#messages.length - 2 - this.#kept.length);
  }

  /** A summary takes the place of all but the question and the last exchange. */
  fold(summary: string): void {
    const [system] = this.#messages;
    if (system === undefined) return;
    const { text } = this.#question;
    const content = summaryMessage(text, summary);
    this.#messages = [system, { role: "user", content }, ...this.#kept];
    this.#question = { text, at: 1 };
  }

  /** What was said before the question belongs to another one. */
  get #kept(): readonly ModelMessage[] {
    const first = this.#messages.length - KEPT_MESSAGES;
    return this.#question.at < first ? this.#messages.slice(first) : [];
  }

  /** Two messages of one side in a row are refused by some endpoints. */
  #add(role: "user", content: string): void {
    const last = this.#messages.at(-1);
    const isSame = last?.role === role;
    const message = { role, content: isSame ? `${last.content}\n\n${content}` : content };
    this.#messages = [...this.#messages.slice(0, isSame ? -1 : undefined), message];
  }
}
