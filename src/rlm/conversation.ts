import type { ModelMessage } from "./model.js";
import { summaryMessage } from "./prompts.js";

/** The last answer and what came of it stay as they are. */
const KEPT_MESSAGES = 2;

/** What a loop and its model have said to each other. */
export class Conversation {
  #messages: ModelMessage[] = [];
  /** Where the present question stands. */
  #question = 0;

  get messages(): readonly ModelMessage[] {
    return this.#messages;
  }

  /** A question; what was said about those before it stays. */
  begin(system: string, question: string): void {
    if (this.#messages.length === 0) this.#messages.push({ role: "system", content: system });
    this.#add("user", question);
    this.#question = this.#messages.length - 1;
  }

  hear(content: string): void {
    this.#messages.push({ role: "assistant", content });
  }

  tell(content: string): void {
    this.#add("user", content);
  }

  /** How many messages a summary would stand for. */
  get foldable(): number {
    return Math.max(0, this.#messages.length - 1 - KEPT_MESSAGES - 1);
  }

  /** A summary takes the place of all but the question and the last exchange. */
  fold(summary: string): void {
    const [system] = this.#messages;
    const question = this.#messages[this.#question];
    if (system === undefined || question === undefined) return;
    const kept = this.#messages.slice(-KEPT_MESSAGES).filter((message) => message !== question);
    const content = summaryMessage(question.content, summary);
    this.#messages = [system, { role: "user", content }, ...kept];
    this.#question = 1;
  }

  /** Two messages of one side in a row are refused by some endpoints. */
  #add(role: "user", content: string): void {
    const last = this.#messages.at(-1);
    if (last?.role !== role) {
      this.#messages.push({ role, content });
      return;
    }
    this.#messages[this.#messages.length - 1] = {
      role,
      content: `${last.content}\n\n${content}`,
    };
  }
}
