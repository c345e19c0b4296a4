import type { TraceEvent, TraceEventType } from "../events.js";
import type { Spending, TraceNode } from "../tree.js";
import { escapeHtml, gistOf, spellCount, spellDollars, spellNumber, spellTime } from "./text.js";

/** If an end event is missing, the trace was cut off or the run continues. */
const ENDINGS: Partial<Record<TraceEventType, readonly TraceEventType[]>> = {
  "run.started": ["run.ended"],
  "model.request": ["model.reply", "model.failed"],
  "code.started": ["code.output"],
  "sub.started": ["sub.ended"],
};

export interface Scale {
  readonly from: number;
  readonly to: number;
  /** Characters shown of a text. */
  readonly longest: number;
}

/** A node without its children and its closing tag. */
export function openNode(node: TraceNode, isOpen: boolean, scale: Scale): string {
  const [first] = node.events;
  if (first === undefined) return "<details class='node'><summary></summary>";
  const { kind, name, gist } = headingOf(first, node.events);
  const summary = [
    `<span class="what"><b>${escapeHtml(name)}</b>${badgesOf(node)}${escapeHtml(gist)}</span>`,
    `<span>${spellTokens(node.spent)}</span>`,
    `<span>${spellCost(node.spent)}</span>`,
    `<span>${spellTime(node.to - node.from)}</span>`,
    barOf(node, scale),
  ];
  const blocks = node.events.map((event) => blocksOf(event, scale.longest)).join("");
  const own = blocks === "" ? "" : `<div class="own">${blocks}</div>`;
  const open = isOpen ? " open" : "";
  return `<details class="node ${kind}"${open}><summary>${summary.join("")}</summary>${own}`;
}

/** An end event comes first if the events before it were dropped. */
function headingOf(first: TraceEvent, events: readonly TraceEvent[]) {
  const [kind = ""] = first.type.split(".");
  const reply = events.find((event) => event.type === "model.reply");
  return { kind, name: nameOf(first, kind), gist: gistOf(reply?.text ?? textOf(first)) };
}

function nameOf(event: TraceEvent, kind: string): string {
  switch (event.type) {
    case "run.started":
      return `run of ${event.model}`;
    case "turn.started":
      return `turn ${event.turn}${event.turns === undefined ? "" : ` of ${event.turns}`}`;
    case "model.request":
      return event.model;
    case "tool.called":
      return event.tool;
    case "sub.started":
    case "sub.ended":
      return `${event.kind}_query`;
    default:
      return kind;
  }
}

function textOf(event: TraceEvent): string {
  if ("query" in event) return event.query;
  if ("prompt" in event) return event.prompt ?? "";
  if ("code" in event) return event.code;
  if ("observation" in event) return event.observation;
  if ("arguments" in event) return event.arguments;
  if ("answer" in event) return event.answer ?? "";
  if ("text" in event) return event.text ?? "";
  return event.type === "model.failed" ? event.error.message : "";
}

function badgesOf({ events }: TraceNode): string {
  const types = new Set(events.map(({ type }) => type));
  const isUnfinished = events.some(({ type }) => {
    const endings = ENDINGS[type];
    return endings !== undefined && !endings.some((ending) => types.has(ending));
  });
  const faults = events.map(faultOf).filter((fault) => fault !== undefined);
  const badges = [...faults, ...(isUnfinished ? ["not ended"] : [])];
  return badges.map((word) => `<i class="badge bad">${escapeHtml(word)}</i>`).join("");
}

function faultOf(event: TraceEvent): string | undefined {
  if (event.type === "code.output") return event.status === "ok" ? undefined : event.status;
  if (event.type === "run.ended") return event.status === "answered" ? undefined : event.status;
  return "error" in event ? event.error?.code : undefined;
}

function blocksOf(event: TraceEvent, longest: number): string {
  const text = (title: string, content: string | null | undefined, isBad = false) =>
    blockOf(title, content, { isBad, longest });
  switch (event.type) {
    case "run.started":
      return text("question", event.query) + factsOf(event);
    case "turn.started":
      return "";
    case "model.request": {
      const limit =
        event.maxTokens === undefined ? "" : `, at most ${event.maxTokens} for the reply`;
      const tokens = spellNumber(event.promptTokens, "token");
      return `${text("prompt", event.prompt)}<p>about ${tokens} in the prompt${limit}</p>`;
    }
    case "model.reply":
      return text(
        `reply${event.finish === "stop" ? "" : `, ended by ${event.finish}`}`,
        event.text,
      );
    case "code.started":
      return text("code", event.code);
    case "code.output":
      return (
        text(`output: ${event.status}`, event.observation, event.status !== "ok") +
        chainIn(event.chain) +
        omittedIn(event.omittedCalls)
      );
    case "tool.called":
      return (
        text("arguments", event.arguments) +
        `<p>${escapeHtml(placeOf(event))}</p>` +
        text(event.outcome, event.error?.message, true)
      );
    case "sub.started":
      return text("prompt", event.prompt);
    case "model.failed":
      return text(event.error.code, event.error.message, true);
    case "sub.ended":
      return event.error === undefined
        ? text("answer", event.text)
        : text(event.error.code, event.error.message, true);
    case "budget":
      return `<p>left: ${escapeHtml(leftIn(event.left))}</p>`;
    case "compaction": {
      const shrunk = `${spellCount(event.tokensBefore)} to ${spellCount(event.tokensAfter)} tokens`;
      return `<p>${spellNumber(event.messages, "message")} compacted from ${shrunk}</p>`;
    }
    case "run.ended":
      return event.error === undefined
        ? text(`ended: ${event.status}`, event.answer)
        : text(`ended: ${event.status}, ${event.error.code}`, event.error.message, true);
  }
}

function blockOf(
  title: string,
  content: string | null | undefined,
  { isBad, longest }: { readonly isBad: boolean; readonly longest: number },
): string {
  if (content === undefined || content === null) return "";
  const left = content.length - longest;
  const shown = left > 0 ? content.slice(0, longest) : content;
  const note = left > 0 ? `<p>${spellNumber(left, "more character")} in the trace</p>` : "";
  // Browsers drop the first line feed in <pre>, so one is added that they may drop.
  return `<h2>${escapeHtml(title)}</h2><pre${isBad ? ' class="bad"' : ""}>\n${escapeHtml(shown)}</pre>${note}`;
}

type EventOf<T extends TraceEventType> = Extract<TraceEvent, { type: T }>;

function factsOf({ context, sandbox, subModel }: EventOf<"run.started">) {
  const facts = [
    ...(context === undefined
      ? []
      : [`context: ${context.type} of ${spellNumber(context.characters, "character")}`]),
    ...(subModel === undefined ? [] : [`sub-calls: ${subModel}`]),
    ...Object.entries(sandbox ?? {}).map(([name, value]) => `${name}: ${value}`),
  ];
  return facts.length === 0 ? "" : `<p>${escapeHtml(facts.join(" · "))}</p>`;
}

/** Who called, and as which call of which chain. */
function placeOf({ callerType, chainId, chainIndex }: EventOf<"tool.called">): string {
  if (chainId === undefined) return `called by a ${callerType}`;
  return `call ${(chainIndex ?? 0) + 1} of chain ${chainId}`;
}

function chainIn(chain: EventOf<"code.output">["chain"]): string {
  if (chain === undefined) return "";
  const facts = [
    `chain ${chain.chain_id}`,
    `mode ${chain.mode_used}`,
    ...(chain.mode_used === chain.mode_requested ? [] : [`${chain.mode_requested} was asked for`]),
    spellNumber(chain.steps, "call"),
    ...(chain.waves === 0 ? [] : [spellNumber(chain.waves, "wave")]),
    ...(chain.reason === null ? [] : [`run line by line: ${chain.reason}`]),
  ];
  const waves = chain.wave_timeline.map(
    ({ wave_index: index, mode_used: mode, tools, elapsed_ms: ms }) =>
      `wave ${index + 1}, ${mode}, ${spellTime(ms)}: ${tools.join(", ")}`,
  );
  return [facts.join(" · "), ...waves].map((line) => `<p>${escapeHtml(line)}</p>`).join("");
}

function omittedIn(calls: number | undefined): string {
  return calls === undefined ? "" : `<p>${spellNumber(calls, "more call")} of tools</p>`;
}

function leftIn(left: EventOf<"budget">["left"]): string {
  const { dollars, ...others } = left;
  return [
    ...(dollars === undefined ? [] : [`$${dollars.toFixed(4)}`]),
    ...Object.entries(others).map(([name, amount]) => `${spellCount(amount ?? 0)} ${name}`),
  ].join(", ");
}

function barOf(node: TraceNode, { from, to }: Scale): string {
  const whole = Math.max(to - from, 0.001);
  const left = ((node.from - from) / whole) * 100;
  const width = ((node.to - node.from) / whole) * 100;
  return `<span class="track"><i style="left:${left.toFixed(2)}%;width:${width.toFixed(2)}%"></i></span>`;
}

export function spellTokens({ calls, inputTokens, outputTokens, estimated }: Spending): string {
  if (calls === 0) return "";
  return `${estimated > 0 ? "~" : ""}${spellCount(inputTokens)} → ${spellCount(outputTokens)}`;
}

/** A lower bound if some prices are unknown. */
export function spellCost({ calls, cost, unpriced }: Spending): string {
  if (calls === 0) return "";
  if (unpriced === calls) return "–";
  return `${unpriced > 0 ? "≥" : ""}${spellDollars(cost)}`;
}
