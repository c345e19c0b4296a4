// Recordings hold these texts: a replay fails when one of them changes.

export interface Abilities {
  /** Whether it may start loops of its own. */
  readonly hasChildren: boolean;
  readonly tools: readonly { readonly signature: string; readonly description: string }[];
}

export function systemPrompt({ hasChildren, tools }: Abilities): string {
  return [
    "You answer a question about a context that is too large to be shown to you. It lies in a Python session.",
    "Write Python in ```repl fences. Every fence of a response is run in order, variables stay, and you see what was",
    "printed and the value of the last expression. Look before you answer; never guess what code would print.",
    "",
    "In the session there are:",
    "- context: what the question is about. peek(n=500), grep(pattern), chunk_context(n), context_len() look into it.",
    "- llm_query(prompt), llm_query_batched(prompts): ask a model that sees only your prompt; give it the text it needs.",
    ...(hasChildren
      ? [
          "- rlm_query(task, ctx=None): a whole loop like this one on another question or context; costly.",
        ]
      : []),
    ...tools.map(
      ({ signature, description }) => `- ${signature}: ${description.replaceAll("\n", "\n  ")}`,
    ),
    "- mark_finding(text): keep something in mind; SHOW_VARS(): your variables.",
    "",
    'Finish in code with FINAL(value), FINAL_VAR("name") or SUBMIT(field=...); or with a line FINAL(text) in a response',
    "that has no code. A FINAL line beside code does not count, for you have not seen what the code gives.",
  ].join("\n");
}

export function firstMessage(
  query: string,
  facts: {
    readonly about: string | undefined;
    readonly form: string | undefined;
    readonly state: string;
    readonly budget: string;
  },
): string {
  const { about, form, state, budget } = facts;
  return [
    `Answer the following: ${query}`,
    ...(form === undefined ? [] : [`The answer must fit this JSON Schema: ${form}`]),
    ...(about === undefined ? [] : [`The context: ${about}`]),
    state,
    ...(budget === "" ? [] : [budget]),
  ].join("\n\n");
}

export function turnMessage(
  turn: number,
  turns: number,
  parts: { readonly observations: readonly string[]; readonly notes: readonly string[] },
): string {
  const { observations, notes } = parts;
  const shown = observations.map((text, index) =>
    observations.length === 1
      ? `REPL output:\n${text}`
      : `REPL output (block ${index + 1}):\n${text}`,
  );
  return [...shown, ...notes, `Turn ${turn}/${turns}.`].join("\n\n");
}

export const NO_CODE =
  "No code was run. Write Python in a ```repl fence, or finish with a line FINAL(your answer).";

export const EARLY_FINAL =
  "The FINAL line beside the code did not count: look at the output first, then finish.";

export const EMPTY_ANSWER =
  'answer["ready"] is set but its content is empty: set the content first.';

export const PREMATURE_FINAL =
  "The answer did not count: it was written before you saw what the code gives. Look at the output, then finish.";

export const FINAL_AFTER_FAILURE =
  "The answer did not count: a block before it failed. Look at what happened, then finish.";

export const LONG_ANSWER =
  "The answer did not count: it cannot be passed on as a whole. Give a shorter one.";

export const LAST_REQUEST =
  "The budget allows this one request more. Finish now with what you know, by FINAL(answer).";

export function summaryMessage(question: string, summary: string): string {
  return `${question}\n\nEarlier turns are no longer shown. What you wrote down about them:\n${summary}`;
}

export const WRITE_SUMMARY = [
  "The conversation gets too long to be sent as a whole. Before it is cut, write down what you need to go on:",
  "what was asked, what you found out with exact values, which variables hold what, what failed, and what is to be",
  "done next. Plain text, no code. Variables of the session stay; the messages do not.",
].join("\n");

export const NO_SUMMARY = "(nothing)";

export const LAST_TURN =
  "There are no turns left. Give the best answer you have now, as plain text, without code.";

/** Runs before each question, for code that finishes by setting a dict. */
export const NEW_ANSWER = 'answer = {"content": "", "ready": False}';
