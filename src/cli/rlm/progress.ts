import { counted } from "../../errors.js";
import { type LoadedContext, loadContext } from "../../rlm/context/load-context.js";
import type { DownloadProgress } from "../../rlm/context/web.js";
import type { RLMResult } from "../../rlm/rlm.js";
import type { TraceEvent, TraceEventType } from "../../rlm/trace/events.js";
import { escapeControls, isTerminal, painterFor } from "../terminal/terminal.js";

const CLEAR = "\r\u001b[K";
const USUAL_COLUMNS = 80;
const TICK_MS = 1_000;
const MB = 1024 * 1024;
const STARTING = "starting Python…";

type Activity = "model" | "code" | "sub";

/** Which activity an event starts (1) or ends (-1). */
const CHANGES: Partial<Record<TraceEventType, readonly [Activity, 1 | -1]>> = {
  "model.request": ["model", 1],
  "model.reply": ["model", -1],
  "model.failed": ["model", -1],
  "code.started": ["code", 1],
  "code.output": ["code", -1],
  "sub.started": ["sub", 1],
  "sub.ended": ["sub", -1],
};

/** A status line on a terminal that is overwritten as the run proceeds. */
export class RunProgress implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  readonly #began = performance.now();
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #running: Record<Activity, number> = { model: 0, code: 0, sub: 0 };
  #waiting = STARTING;
  #turn = "";
  #depth = 0;
  #calls = 0;
  #tokens = 0;
  #cost: number | undefined;
  #isShown = false;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    // Keeps the seconds counting while no events come.
    if (isTerminal(stream)) this.#timer = setInterval(() => this.#refresh(), TICK_MS).unref();
  }

  update(event: TraceEvent): void {
    this.#depth = event.depth;
    const [activity, change] = CHANGES[event.type] ?? [];
    if (activity !== undefined) this.#running[activity] += change ?? 0;
    if (event.type === "turn.started" && event.depth === 0) {
      this.#turn = `turn ${event.turn}${event.turns === undefined ? "" : `/${event.turns}`}`;
    } else if (event.type === "model.request") {
      this.#calls += 1;
    } else if (event.type === "model.reply") {
      this.#tokens += event.usage.inputTokens + event.usage.outputTokens;
      if (event.cost !== null) this.#cost = (this.#cost ?? 0) + event.cost;
    }
    this.#show();
  }

  /** Undefined without sources. */
  async loadContext(
    sources: readonly string[] | undefined,
    signal: AbortSignal,
  ): Promise<LoadedContext | undefined> {
    if (sources === undefined) return undefined;
    const loaded = await loadContext(sources, {
      signal,
      onNote: (note) => this.#note(note),
      onProgress: (progress) => this.#download(progress),
    });
    this.#waiting = STARTING;
    this.#refresh();
    return loaded;
  }

  #download({ name, bytes, total }: DownloadProgress): void {
    const received = (bytes / MB).toFixed(1);
    const of = total === undefined ? "" : ` of ${(total / MB).toFixed(1)}`;
    this.#waiting = `fetching ${name}: ${received}${of} MB`;
    this.#show();
  }

  /** A line that stays, also if the stream is not a terminal. */
  #note(text: string): void {
    this.clear();
    this.#stream.write(`note: ${isTerminal(this.#stream) ? escapeControls(text) : text}\n`);
  }

  /** Ends the progress with the totals of the run. */
  finish({ status, turns, usage }: RLMResult): void {
    this[Symbol.dispose]();
    if (!isTerminal(this.#stream)) return;
    const { calls, inputTokens, outputTokens, cost, unpriced } = usage;
    const parts = [
      status.replaceAll("-", " "),
      counted(turns, "turn"),
      counted(calls, "call"),
      counted(inputTokens + outputTokens, "token"),
      ...(calls > unpriced ? [dollars(cost)] : []),
      this.#seconds(),
    ];
    this.#stream.write(`${painterFor(this.#stream)("dim", parts.join(" · "))}\n`);
  }

  #refresh(): void {
    if (this.#isShown) this.#show();
  }

  #show(): void {
    if (!isTerminal(this.#stream)) return;
    // A line that wraps cannot be overwritten.
    const width = (this.#stream.columns || USUAL_COLUMNS) - 1;
    const line = this.#turn === "" ? this.#waiting : this.#line(width);
    const shown = line.length > width ? `${line.slice(0, width - 1)}…` : line;
    this.#stream.write(CLEAR + painterFor(this.#stream)("dim", shown));
    this.#isShown = true;
  }

  /** On a narrow terminal without the depth and the time. */
  #line(width: number): string {
    const [depth, seconds] = [`depth ${this.#depth}`, this.#seconds()];
    const parts = [
      this.#turn,
      depth,
      counted(this.#calls, "call"),
      counted(this.#tokens, "token"),
      ...(this.#cost === undefined ? [] : [dollars(this.#cost)]),
      seconds,
      ...this.#activity(),
    ];
    const line = parts.join(" · ");
    if (line.length <= width) return line;
    return parts.filter((part) => part !== depth && part !== seconds).join(" · ");
  }

  #activity(): string[] {
    const { model, code, sub } = this.#running;
    if (sub > 0) return [counted(sub, "sub-call")];
    if (model > 0) return ["asking"];
    return code > 0 ? ["running code"] : [];
  }

  #seconds(): string {
    return `${Math.floor((performance.now() - this.#began) / 1000)} s`;
  }

  clear(): void {
    if (this.#isShown) this.#stream.write(CLEAR);
    this.#isShown = false;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.clear();
  }
}

function dollars(amount: number): string {
  return `$${amount.toFixed(amount < 1 ? 4 : 2)}`;
}
