import type { TraceEvent } from "../../../src/rlm/trace/events.js";
import type { Span } from "../../../src/rlm/trace/trace.js";
import { Trace } from "../../../src/rlm/trace/trace.js";

const USAGE = { inputTokens: 1_000, outputTokens: 50, isEstimate: false };

/** A clock that goes a step on whenever it is looked at. */
export function steppingClock(step = 10): () => number {
  let now = 0;
  return () => {
    now += step;
    return now;
  };
}

export function askModel(span: Span, text: string, cost: number | null = 0.01): void {
  const call = `c${span.id}`;
  span.emit({ type: "model.request", call, model: "big", promptTokens: 990, maxTokens: 500 });
  span.emit({ type: "model.reply", call, text, finish: "stop", usage: USAGE, cost, ms: 10 });
}

export function runCode(span: Span, code: string, observation: string): void {
  span.emit({ type: "code.started", code });
  span.emit({ type: "code.output", observation, status: "ok", ms: 10 });
}

export interface RunPlan {
  readonly turns: number;
  /** Sub-calls of each turn. */
  readonly calls: number;
  readonly output?: string;
}

/** The events of a run with sub-calls of both kinds, as a loop would tell them. */
export function tellRun(trace: Trace, { turns, calls, output = "found 3 ducks" }: RunPlan): void {
  const { root } = trace;
  root.emit({
    type: "run.started",
    version: 1,
    query: "How many ducks swim in the pond?",
    model: "big",
    subModel: "small",
    context: { type: "str", characters: 1_000_000 },
    sandbox: { backend: "native", isolation: "strong", python: "3.11.7" },
  });
  for (let turn = 1; turn <= turns; turn += 1) {
    const span = root.child();
    span.emit({ type: "turn.started", turn, turns });
    askModel(span.child(), `Let me look.\n\`\`\`repl\nprint(llm_query("duck ${turn}"))\n\`\`\``);
    const cell = span.child();
    cell.emit({ type: "code.started", code: `for i in range(${calls}):\n    ask(i, ${turn})` });
    for (let call = 0; call < calls; call += 1) {
      const kind = call % 4 === 3 ? "rlm" : "llm";
      const sub = cell.child({ deeper: true });
      sub.emit({ type: "sub.started", kind, prompt: `Is duck ${turn}.${call} in this text?` });
      askModel(sub.child(), `yes, duck ${turn}.${call}`, call % 2 === 0 ? 0.001 : null);
      sub.emit({ type: "sub.ended", kind, text: `yes, duck ${turn}.${call}`, ms: 20 });
    }
    cell.emit({ type: "code.output", observation: output, status: "ok", ms: 40 });
    span.emit({ type: "budget", left: { dollars: 1.5, calls: 40 } });
  }
  root.emit({
    type: "run.ended",
    status: "answered",
    answer: "There are 3 ducks.",
    usage: { calls: turns * (1 + calls), ...USAGE, cost: null },
  });
}

export async function toldRun(plan: RunPlan): Promise<readonly TraceEvent[]> {
  await using trace = await Trace.open({ run: "r1", keep: 1_000_000, clock: steppingClock() });
  tellRun(trace, plan);
  return trace.events;
}
