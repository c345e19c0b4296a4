import { KINDS, kindOf } from "./questions.mjs";
import { Random } from "./random.mjs";

export const ASK_CODE =
  "Does this text tell the code of the harbour door? Answer with the code alone, or with NONE.";
export const ASK_KINDS = `What does each question ask for: ${KINDS.join(", ")}? One word for each, in lines.`;

/** Paraphrases of the harbour that a search for words does not find. */
const CODE_FORM = /Whoever wants to come in from the quay presses (\d{5})\./;

/** A sub-model that answers correctly, except for a share of its answers; it reads only the prompt. */
export class Oracle {
  #errorRate;
  #random = new Random(7_654_321);

  constructor({ errorRate }) {
    this.#errorRate = errorRate;
  }

  answer(prompt) {
    const [task, , ...lines] = prompt.split("\n");
    switch (task) {
      case ASK_CODE:
        return this.#isWrong() ? "12345" : (CODE_FORM.exec(lines.join("\n"))?.[1] ?? "NONE");
      case ASK_KINDS:
        return lines.map((line) => (this.#isWrong() ? KINDS[0] : kindOf(line))).join("\n");
      default:
        return "I do not know.";
    }
  }

  #isWrong() {
    return this.#random.below(1) < this.#errorRate;
  }
}
