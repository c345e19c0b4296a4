import type { ChatMessage } from "./chat-request.js";
import { invalid } from "./http-error.js";

/** A longer text goes into the context instead of every turn's prompt. */
const LONGEST_QUESTION = 20_000;
/** What each earlier message is shown of, and all of them together. */
const LONGEST_MESSAGE = 2_000;
const LONGEST_HISTORY = 8_000;
/** Of a text in the context: its beginning or its end is often the question. */
const LONGEST_GLIMPSE = 4_000;

/** What a run is asked, and what it is about. */
export interface ChatQuestion {
  readonly query: string;
  /** The conversation, where the server has nothing else to ask about. */
  readonly context: readonly ChatMessage[] | undefined;
}

/** Makes a question of a conversation. Its last message is what is asked. */
export function questionOf(messages: readonly ChatMessage[], hasContext: boolean): ChatQuestion {
  const instructions = messages
    .filter(({ role, content }) => role === "system" && content.trim() !== "")
    .map(({ content }) => content)
    .join("\n\n");
  const spoken = messages.filter(({ role, content }) => role !== "system" && content.trim() !== "");
  const question = spoken.at(-1);
  if (question?.role !== "user") {
    throw invalid("the last message must have the role user", "messages");
  }
  return hasContext
    ? besideContext(instructions, spoken, question)
    : asContext(instructions, spoken, question);
}

/** The server has its own context, so everything else must fit into the prompt. */
function besideContext(
  instructions: string,
  spoken: readonly ChatMessage[],
  { content: question }: ChatMessage,
): ChatQuestion {
  for (const [what, text] of [
    ["the question", question],
    ["the system messages", instructions],
  ] as const) {
    if (text.length <= LONGEST_QUESTION) continue;
    const length = text.length.toLocaleString("en-US");
    throw invalid(
      `this server has its own context, so ${what} may have at most ${LONGEST_QUESTION.toLocaleString("en-US")} characters, not ${length}`,
      "messages",
      "context_length_exceeded",
    );
  }
  const history = historyOf(spoken.slice(0, -1), () => "");
  const query = joined([
    instructions === "" ? "" : instructed(instructions),
    history === "" ? "" : `The conversation so far, which is not in context:\n\n${history}`,
    asked(question, instructions + history !== ""),
  ]);
  return { query, context: undefined };
}

function asContext(
  instructions: string,
  spoken: readonly ChatMessage[],
  question: ChatMessage,
): ChatQuestion {
  const isLongQuestion = question.content.length > LONGEST_QUESTION;
  const isLongInstruction = instructions.length > LONGEST_QUESTION;
  const documents: ChatMessage[] = [
    ...(isLongInstruction ? [{ role: "system", content: instructions } as const] : []),
    ...spoken.slice(0, isLongQuestion ? undefined : -1),
  ];
  const placeOf = (message: ChatMessage) => `context[${documents.indexOf(message)}]["content"]`;
  const history = historyOf(spoken.slice(0, -1), (message) => `, whole in ${placeOf(message)}`);
  const query = joined([
    documents.length === 0
      ? ""
      : 'context is a conversation: a list of {"role", "content"}, the oldest message first.',
    isLongInstruction
      ? `Follow the instructions in context[0]["content"]. In short:\n\n${glimpse(instructions)}`
      : instructions === ""
        ? ""
        : instructed(instructions),
    history === "" ? "" : `The conversation so far:\n\n${history}`,
    isLongQuestion
      ? `Answer the last message, which is too long to be shown. It is context[-1]["content"]:\n\n${glimpse(question.content)}`
      : asked(question.content, instructions + history !== ""),
  ]);
  return { query, context: documents.length === 0 ? undefined : documents };
}

function instructed(instructions: string): string {
  return `Follow these instructions:\n\n${instructions}`;
}

function asked(question: string, hasMore: boolean): string {
  return hasMore ? `Answer the last message:\n\n${question}` : question;
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

/** The latest messages that fit, and how many were left out. */
function historyOf(
  messages: readonly ChatMessage[],
  whereWhole: (message: ChatMessage) => string,
): string {
  const shown: string[] = [];
  let length = 0;
  for (const message of messages.toReversed()) {
    const text = `${message.role}: ${cut(message.content, LONGEST_MESSAGE, whereWhole(message))}`;
    length += text.length;
    if (length > LONGEST_HISTORY) break;
    shown.unshift(text);
  }
  const left = messages.length - shown.length;
  const note = `[${left} earlier ${left === 1 ? "message is" : "messages are"} not shown]`;
  return (left > 0 ? [note, ...shown] : shown).join("\n\n");
}

function glimpse(text: string): string {
  return cut(text, LONGEST_GLIMPSE, "");
}

/** The beginning and the end, with a word about what is between. */
function cut(text: string, limit: number, where: string): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  const left = (text.length - 2 * half).toLocaleString("en-US");
  const [head, tail] = [text.slice(0, half), text.slice(-half)];
  return `${head}\n[${left} characters are not shown here${where}]\n${tail}`.toWellFormed();
}
