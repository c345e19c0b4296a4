import type { TraceEvent } from "../rlm/trace-events.js";
import { isTerminal, painterFor } from "./terminal.js";

const CLEAR = "\r\u001b[K";
const USUAL_COLUMNS = 80;

/** How far a run is, in one line that is written over; on a terminal only. */
export class RunProgress implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  #turn = "";
  #depth = 0;
  #calls = 0;
  #tokens = 0;
  #isShown = false;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  hear(event: TraceEvent): void {
    this.#depth = event.depth;
    if (event.type === "turn.started" && event.depth === 0) {
      this.#turn = `turn ${event.turn}${event.turns === undefined ? "" : `/${event.turns}`}`;
    } else if (event.type === "model.request") {
      this.#calls += 1;
    } else if (event.type === "model.reply") {
      this.#tokens += event.usage.inputTokens + event.usage.outputTokens;
    }
    this.#show();
  }

  #show(): void {
    if (!isTerminal(this.#stream)) return;
    const line = this.#turn === "" ? "starting Python…" : this.#line();
    // A line that wraps cannot be written over.
    const shown = line.slice(0, (this.#stream.columns || USUAL_COLUMNS) - 1);
    this.#stream.write(CLEAR + painterFor(this.#stream)("dim", shown));
    this.#isShown = true;
  }

  #line(): string {
    const calls = this.#calls === 1 ? "1 call" : `${this.#calls} calls`;
    const tokens = `${this.#tokens.toLocaleString("en-US")} tokens`;
    return [this.#turn, `depth ${this.#depth}`, calls, tokens].join(" · ");
  }

  [Symbol.dispose](): void {
    if (this.#isShown) this.#stream.write(CLEAR);
    this.#isShown = false;
  }
}
