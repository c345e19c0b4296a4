import { randomUUID } from "node:crypto";
import { unlessAborted } from "../../concurrency/abort.js";
import { type Deferred, deferred } from "../../concurrency/deferred.js";
import { CellarError, describeError } from "../../errors.js";
import { ToolError } from "../tool.js";

const MOST_PENDING = 1_000;
const LONGEST_REASON = 1_000;

/** Why somebody is asked. */
export type Risk = "destructive" | "escalation" | "as-declared";

export interface ApprovalRequest {
  readonly id: string;
  /** The tool, or the function of the session, that waits. */
  readonly name: string;
  readonly risk: Risk;
  /** As they would be sent, without secrets. */
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly askedAt: Date;
}

export type ApprovalAnswer =
  | {
      readonly approved: true;
      /** To be used instead of those that were asked for. */
      readonly arguments?: Readonly<Record<string, unknown>> | undefined;
      /** Later calls of the same name are not asked about. */
      readonly always?: boolean | undefined;
    }
  | { readonly approved: false; readonly reason?: string | undefined };

/** Answers at once, later, or never: whoever waits has a time limit. `true` approves, `false` refuses. */
export type Approver = (
  request: ApprovalRequest,
  options: { readonly signal: AbortSignal },
) => ApprovalAnswer | boolean | undefined | Promise<ApprovalAnswer | boolean | undefined>;

interface Waiting {
  readonly request: ApprovalRequest;
  readonly answer: Deferred<ApprovalAnswer>;
}

/**
 * Everything that asks before it is done. A request is answered by the callback, or by `answer()` with its id,
 * whichever comes first; a callback that returns undefined leaves it to `answer()`.
 */
export class Approvals {
  readonly #approver: Approver | undefined;
  readonly #waiting = new Map<string, Waiting>();
  readonly #always = new Set<string>();
  readonly #listeners = new Set<(request: ApprovalRequest) => void>();

  constructor(approver?: Approver) {
    this.#approver = approver;
  }

  /** What waits for an answer, oldest first. */
  get pending(): readonly ApprovalRequest[] {
    return [...this.#waiting.values()].map(({ request }) => request);
  }

  /** Calls back for each new request. Dispose it to stop. */
  onRequest(listener: (request: ApprovalRequest) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  answer(id: string, answer: ApprovalAnswer): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) {
      throw new CellarError("NOT_FOUND", `no request ${JSON.stringify(id.slice(0, 100))} waits`, {
        remedy: "It was answered, or its call has ended; `pending` lists those that wait.",
      });
    }
    this.#waiting.delete(id);
    waiting.answer.resolve(answer);
  }

  async ask(
    asked: Pick<ApprovalRequest, "name" | "risk" | "arguments">,
    signal: AbortSignal,
  ): Promise<ApprovalAnswer> {
    const subject = `${asked.risk} ${asked.name}`;
    if (this.#always.has(subject)) return { approved: true };
    if (this.#approver === undefined && this.#listeners.size === 0) {
      return { approved: false, reason: "nobody can approve it here: there is no onApproval" };
    }
    if (this.#waiting.size >= MOST_PENDING) {
      return { approved: false, reason: `${MOST_PENDING} requests wait for an answer already` };
    }
    const request = { id: randomUUID(), ...asked, askedAt: new Date() };
    const waiting: Waiting = { request, answer: deferred() };
    this.#waiting.set(request.id, waiting);
    try {
      for (const listener of this.#listeners) listener(request);
      void this.#askApprover(request, signal);
      const answer = await unlessAborted(
        waiting.answer.promise,
        signal,
        () => new ToolError("CANCELLED", `nobody waits for the approval of ${asked.name} any more`),
      );
      // Only a plain yes is one, whatever a callback without types may say.
      if (answer?.approved !== true) return { approved: false, reason: answer?.reason };
      if (answer.always === true) this.#always.add(subject);
      return answer;
    } finally {
      this.#waiting.delete(request.id);
    }
  }

  async #askApprover(request: ApprovalRequest, signal: AbortSignal): Promise<void> {
    const answer = await this.#answerOfApprover(request, signal);
    if (answer === undefined || !this.#waiting.has(request.id)) return;
    this.answer(request.id, typeof answer === "boolean" ? { approved: answer } : answer);
  }

  async #answerOfApprover(
    request: ApprovalRequest,
    signal: AbortSignal,
  ): Promise<ApprovalAnswer | boolean | undefined> {
    try {
      return await this.#approver?.(request, { signal });
    } catch (error) {
      const reason = `onApproval failed: ${describeError(error)}`.slice(0, LONGEST_REASON);
      return { approved: false, reason };
    }
  }
}
