import { counted } from "../../errors.js";
import type { DownloadProgress } from "../../rlm/context/web.js";
import type { RLMResult } from "../../rlm/rlm.js";
import type { TraceEvent } from "../../rlm/trace/events.js";
import { escapeControls, isTerminal, painterFor } from "../terminal/terminal.js";

const CLEAR = "\r\u001b[K";
const USUAL_COLUMNS = 80;
const TICK_MS = 1_000;
const MB = 1024 * 1024;

/** How far a run is, in one line that is written over; on a terminal only. */
export class RunProgress implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  readonly #began = performance.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #waiting = "starting Python…";
  #turn = "";
  #depth = 0;
  #calls = 0;
  #tokens = 0;
  #cost: number | undefined;
  /** What has begun and not ended. */
  #asked = 0;
  #cells = 0;
  #subCalls = 0;
  #isShown = false;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    // Seconds go by while nothing happens.
    if (isTerminal(stream)) this.#timer = setInterval(() => this.#refresh(), TICK_MS).unref();
  }

  hear(event: TraceEvent): void {
    this.#depth = event.depth;
    switch (event.type) {
      case "turn.started":
        if (event.depth === 0) {
          this.#turn = `turn ${event.turn}${event.turns === undefined ? "" : `/${event.turns}`}`;
        }
        break;
      case "model.request":
        this.#calls += 1;
        this.#asked += 1;
        break;
      case "model.reply":
        this.#asked -= 1;
        this.#tokens += event.usage.inputTokens + event.usage.outputTokens;
        if (event.cost !== null) this.#cost = (this.#cost ?? 0) + event.cost;
        break;
      case "model.failed":
        this.#asked -= 1;
        break;
      case "code.started":
        this.#cells += 1;
        break;
      case "code.output":
        this.#cells -= 1;
        break;
      case "sub.started":
        this.#subCalls += 1;
        break;
      case "sub.ended":
        this.#subCalls -= 1;
        break;
      case "run.started":
      case "run.ended":
      case "budget":
      case "compaction":
        break;
      default:
        event satisfies never;
    }
    this.#show();
  }

  /** A context that comes from afar. */
  fetch({ name, bytes, total }: DownloadProgress): void {
    const so = (bytes / MB).toFixed(1);
    const size = total === undefined ? `${so} MB` : `${so} of ${(total / MB).toFixed(1)} MB`;
    this.#waiting = `fetching ${name}: ${size}`;
    this.#show();
  }

  /** The context is there. */
  begin(): void {
    this.#waiting = "starting Python…";
    if (this.#isShown) this.#show();
  }

  /** A line that stays, terminal or not. */
  note(text: string): void {
    this.clear();
    this.#stream.write(`note: ${isTerminal(this.#stream) ? escapeControls(text) : text}\n`);
  }

  /** What it all came to; the last word. */
  sum({ status, turns, usage }: RLMResult): void {
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
    // A line that wraps cannot be written over.
    const width = (this.#stream.columns || USUAL_COLUMNS) - 1;
    const line = this.#turn === "" ? this.#waiting : this.#line(width);
    const shown = line.length > width ? `${line.slice(0, width - 1)}…` : line;
    this.#stream.write(CLEAR + painterFor(this.#stream)("dim", shown));
    this.#isShown = true;
  }

  /** Where there is no room for all, without what matters least. */
  #line(width: number): string {
    const [depth, seconds] = [`depth ${this.#depth}`, this.#seconds()];
    const parts = [
      this.#turn,
      depth,
      counted(this.#calls, "call"),
      counted(this.#tokens, "token"),
      ...(this.#cost === undefined ? [] : [dollars(this.#cost)]),
      seconds,
      ...this.#doing(),
    ];
    const line = parts.join(" · ");
    if (line.length <= width) return line;
    return parts.filter((part) => part !== depth && part !== seconds).join(" · ");
  }

  #doing(): string[] {
    if (this.#subCalls > 0) return [counted(this.#subCalls, "sub-call")];
    if (this.#asked > 0) return ["asking"];
    return this.#cells > 0 ? ["running code"] : [];
  }

  #seconds(): string {
    return `${Math.floor((performance.now() - this.#began) / 1000)} s`;
  }

  /** Until it has more to say. */
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
