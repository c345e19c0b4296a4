import { type RedactionOptions, Redactor } from "../agent/redaction/redactor.js";
import type { Invocation, InvocationListener } from "../registry/control/invocation-log.js";
import type { Span } from "./trace/trace.js";

/** More calls of one cell than these have no event of their own: code can call without end. */
const MOST_CALLS = 10_000;
const LONGEST_ARGUMENTS = 4_000;
const LONGEST_NAME = 200;

/** Calls of tools by a loop's code, as events below the cell that made them. */
export class ToolCalls {
  readonly #redactor: Redactor | undefined;
  #span: Span | undefined;
  #calls = 0;
  #pending = new Set<Promise<void>>();

  constructor(redact: boolean | RedactionOptions = true) {
    this.#redactor = redact === false ? undefined : new Redactor(redact === true ? {} : redact);
  }

  /** Calls from now on belong to this cell. */
  begin(span: Span): void {
    this.#span = span;
    this.#calls = 0;
  }

  readonly onInvocation: InvocationListener = (invocation) => {
    const span = this.#span;
    if (span === undefined) return;
    this.#calls += 1;
    if (this.#calls > MOST_CALLS) return;
    const work = this.#emit(span, invocation)
      // What cannot be told must not end the run.
      .catch(() => {})
      .finally(() => this.#pending.delete(work));
    this.#pending.add(work);
  };

  /** Waits until each call so far has its event; returns how many have none. */
  async settled(): Promise<number> {
    await Promise.all(this.#pending);
    return Math.max(0, this.#calls - MOST_CALLS);
  }

  async #emit(span: Span, invocation: Invocation): Promise<void> {
    const { tool, callerType, chainId, chainIndex, outcome, error, elapsedMs } = invocation;
    const given = await this.#redact(JSON.stringify(invocation.arguments) ?? "");
    span.child().emit({
      type: "tool.called",
      tool: (await this.#redact(tool)).slice(0, LONGEST_NAME),
      arguments: given.length > LONGEST_ARGUMENTS ? `${given.slice(0, LONGEST_ARGUMENTS)}…` : given,
      callerType,
      ...(chainId !== undefined && { chainId }),
      ...(chainIndex !== undefined && { chainIndex }),
      outcome,
      ...(error !== undefined && {
        error: { code: outcome, message: await this.#redact(error) },
      }),
      ms: elapsedMs,
    });
  }

  async #redact(text: string): Promise<string> {
    return (await this.#redactor?.redact(text))?.text ?? text;
  }
}
