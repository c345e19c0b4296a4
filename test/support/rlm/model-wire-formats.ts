/** What a fake provider says. */
export interface Spoken {
  readonly text?: string;
  /** How a stream cuts the text; words where it is not said. */
  readonly pieces?: readonly string[];
  readonly thoughts?: readonly string[];
  /** The provider's own word for why it stopped. */
  readonly finish?: string;
  readonly model?: string;
  /** Eleven and seven where it is not said. */
  readonly usage?: { readonly input?: number; readonly output?: number } | "missing";
}

export interface Speech {
  readonly whole: unknown;
  /** The stream, event by event. */
  readonly events: readonly string[];
}

export function spokenAs(protocol: "chat" | "messages", model: string, spoken: Spoken): Speech {
  const { text = (spoken.pieces ?? []).join("") } = spoken;
  const said = {
    model: spoken.model ?? model,
    text,
    pieces: spoken.pieces ?? text.match(/\S*\s*/g)?.filter((word) => word !== "") ?? [],
    thoughts: spoken.thoughts ?? [],
    finish: spoken.finish,
    usage: spoken.usage === "missing" ? undefined : { input: 11, output: 7, ...spoken.usage },
  };
  return protocol === "chat" ? asChat(said) : asMessages(said);
}

interface Said {
  readonly model: string;
  readonly text: string;
  readonly pieces: readonly string[];
  readonly thoughts: readonly string[];
  readonly finish: string | undefined;
  readonly usage: { readonly input: number; readonly output: number } | undefined;
}

function asChat({ model, text, pieces, thoughts, finish = "stop", usage }: Said): Speech {
  const counted = usage && {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
  };
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: "chat-1",
    object: "chat.completion.chunk",
    model,
    choices: [{ index: 0, delta, finish_reason }],
    usage: null,
  });
  const chunks = [
    chunk({ role: "assistant", content: "" }),
    ...thoughts.map((reasoning_content) => chunk({ reasoning_content })),
    ...pieces.map((content) => chunk({ content })),
    chunk({}, finish),
    ...(counted ? [{ id: "chat-1", model, choices: [], usage: counted }] : []),
  ];
  const message = { role: "assistant", content: text, reasoning_content: thoughts.join("") };
  return {
    whole: {
      id: "chat-1",
      object: "chat.completion",
      model,
      choices: [{ index: 0, message, finish_reason: finish }],
      ...(counted && { usage: counted }),
    },
    events: [...chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`), "data: [DONE]\n\n"],
  };
}

function asMessages(said: Said): Speech {
  const { model, text, pieces, thoughts, finish = "end_turn", usage } = said;
  const input = usage && { input_tokens: usage.input };
  const output = usage && { output_tokens: usage.output };
  const block = (index: number, content_block: object, deltas: readonly object[]) => [
    { type: "content_block_start", index, content_block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
  const events = [
    {
      type: "message_start",
      message: {
        id: "msg_1",
        model,
        content: [],
        ...(usage && { usage: { ...input, output_tokens: 1 } }),
      },
    },
    { type: "ping" },
    ...(thoughts.length === 0
      ? []
      : block(0, { type: "thinking", thinking: "" }, [
          ...thoughts.map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature: "c2ln" },
        ])),
    ...block(
      1,
      { type: "text", text: "" },
      pieces.map((piece) => ({ type: "text_delta", text: piece })),
    ),
    {
      type: "message_delta",
      delta: { stop_reason: finish, stop_sequence: null },
      ...(usage && { usage: output }),
    },
    { type: "message_stop" },
  ];
  return {
    whole: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model,
      content: [{ type: "text", text }],
      stop_reason: finish,
      ...(usage && { usage: { ...input, ...output } }),
    },
    events: events.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`),
  };
}
