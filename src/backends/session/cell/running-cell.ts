import { deferred } from "../../../concurrency/deferred.js";
import { CellarError, describeError } from "../../../errors.js";
import type { Params, Result } from "../../../protocol/messages.js";
import type { REPLConfig } from "../../backend.js";
import type { Branch, CellListener, Death } from "../branch.js";
import type { CheckpointPolicy } from "../checkpoint-policy.js";
import { Collector } from "./collector.js";
import type { HostCalls } from "./host-calls.js";
import { type Allowance, PausableTimer } from "./pausable-timer.js";

/** A closed link is mostly a dead head, which init reports by itself. */
const DEATH_NOTICE_MS = 250;

/** A head whose pipes were broken by the cell never reports the end of its output: then nothing comes. */
const SETTLE_MS = 5_000;
/** Nor may what is left running write on and on under the cell's name. */
const LONGEST_SETTLE_MS = 15_000;

export type StopCause = "timeout" | "cancelled";

export interface CellOrder {
  readonly step: number;
  readonly number: number;
  readonly code: string;
  readonly timeout: number;
  /** Milliseconds that its clock may stand in all. */
  readonly queryTotal: number;
  readonly grace: number;
  readonly maxOutputLength: number;
  readonly policy: CheckpointPolicy;
  readonly argv?: readonly string[] | undefined;
  readonly continues?: boolean | undefined;
  readonly callbacks: Pick<REPLConfig, "onStdout" | "onStderr" | "onDisplay">;
  readonly calls: HostCalls;
}

type SettledReport = Pick<Params<"settled">, "omitted" | "processes">;

export type CellEnd =
  | { readonly kind: "answered"; readonly answer: Result<"execute"> }
  | { readonly kind: "died"; readonly death: Death; readonly broken: CellarError | undefined }
  | { readonly kind: "lost"; readonly reason: CellarError };

/** One run of one cell on one head: limits it, gathers its output, and finds out how it ended. */
export class RunningCell implements CellListener {
  readonly collector: Collector;
  readonly #branch: Branch;
  readonly #order: CellOrder;
  readonly #generation: number;
  #cause: StopCause | undefined;
  #answered = false;
  #isOver = false;
  readonly #timers = new Set<NodeJS.Timeout>();
  #deadline: Disposable | undefined;
  #settling: NodeJS.Timeout | undefined;
  #settled: SettledReport | undefined;
  #wakeSettled: () => void = () => {};
  #death: CellEnd | undefined;
  readonly #died = deferred<CellEnd>();
  #broken: CellarError | undefined;
  #clock: PausableTimer | undefined;
  #exceeded: keyof Allowance = "timeout";
  /** Aborts the host's functions when the cell is over. */
  #calling: AbortController | undefined;

  constructor(branch: Branch, order: CellOrder) {
    this.#branch = branch;
    this.#order = order;
    this.#generation = branch.generation;
    this.collector = new Collector(order.callbacks, order.maxOutputLength);
  }

  output(event: Params<"output">): void {
    this.#settling?.refresh();
    this.collector.text(event);
  }

  display(event: Params<"display">, attachments: readonly Buffer[]): void {
    this.collector.display(event, attachments);
  }

  clear(event: Params<"clear_output">): void {
    this.collector.clear(event);
  }

  get cause(): StopCause | undefined {
    return this.#cause;
  }

  get limit(): string {
    const { timeout, queryTotal } = this.#order;
    return this.#exceeded === "timeout" ? timeLimit(timeout) : totalLimit(queryTotal);
  }

  get report(): SettledReport | undefined {
    return this.#settled;
  }

  settled(event: Params<"settled">): void {
    this.#settled = event;
    if (this.#broken === undefined) this.#wakeSettled();
  }

  died(death: Death): void {
    this.#death = { kind: "died", death, broken: this.#broken };
    this.#died.resolve(this.#death);
  }

  /** The cell's time limit is paused while the host works for it, not while it is refused. */
  async hostCall(call: Params<"host_call">): Promise<Result<"host_call">> {
    const { calls } = this.#order;
    this.#calling ??= new AbortController();
    const { signal } = this.#calling;
    await calls.admit(call, signal);
    this.#clock?.hold();
    try {
      return await calls.answer(call, signal);
    } finally {
      this.#clock?.release();
    }
  }

  /** SIGINT now, SIGKILL after the grace. Does nothing once the cell is over. */
  stop(cause: StopCause): void {
    if (this.#answered || this.#cause !== undefined) return;
    this.#cause = cause;
    this.#calling?.abort();
    const { session, number } = this.#branch;
    session.interrupt(number, this.#order.step);
    this.#after(this.#order.grace, () => {
      if (!this.#answered) this.#kill();
    });
  }

  async run(): Promise<CellEnd> {
    const { step, number, code, maxOutputLength, policy, timeout, argv, continues } = this.#order;
    const listening = this.#branch.listen(step, this);
    const lost = deferred<CellEnd>();
    const attending = this.#branch.session.onEnd((reason) =>
      lost.resolve({ kind: "lost", reason }),
    );
    this.#clock = new PausableTimer(this.#order, (limit) => {
      if (this.#cause === undefined) this.#exceeded = limit;
      this.stop("timeout");
    });
    this.#branch.session.announceTimeout(timeout);
    const { restMs } = this.#branch.session;
    try {
      const answered = this.#branch
        .ask("execute", {
          step,
          number,
          code,
          max_output: maxOutputLength,
          ...policy,
          ...(argv !== undefined && { argv: [...argv] }),
          ...(continues === true && { continues }),
          ...(restMs !== undefined && { rest_ms: restMs }),
        })
        .then((answer): CellEnd => ({ kind: "answered", answer }))
        .catch((error: unknown): Promise<CellEnd> => this.#linkBroke(error));
      const end = await Promise.race([answered, this.#died.promise, lost.promise]);
      // The head in its place may have died as well by now.
      if (end.kind !== "answered") return end.kind === "died" ? (this.#death ?? end) : end;
      this.#answered = true;
      if (end.answer.output !== undefined) {
        this.#takeOutput(end.answer.output);
        return this.#death ?? end;
      }
      const settled = await Promise.race([
        this.#untilSettled(end),
        this.#died.promise,
        lost.promise,
      ]);
      // Its last output and its death may have come in one breath.
      return this.#death ?? settled;
    } finally {
      this.#isOver = true;
      for (const timer of this.#timers) clearTimeout(timer);
      this.#deadline?.[Symbol.dispose]();
      this.#clock[Symbol.dispose]();
      this.#calling?.abort();
      listening[Symbol.dispose]();
      attending[Symbol.dispose]();
    }
  }

  /** A short cell brings its whole output along, and what was written between cells. */
  #takeOutput({ pieces, omitted }: NonNullable<Result<"execute">["output"]>): void {
    for (const piece of pieces) {
      if (piece.step === this.#order.step) this.collector.text(piece);
      else if (piece.step === null) this.#branch.background(piece);
    }
    this.#settled = { omitted, processes: 0 };
  }

  /** Nothing of a cell happens after it: what comes too late finds it over. */
  #after(milliseconds: number, action: () => void): NodeJS.Timeout | undefined {
    if (this.#isOver) return undefined;
    const timer = setTimeout(action, milliseconds);
    this.#timers.add(timer);
    return timer;
  }

  #kill(): void {
    if (this.#isOver) return;
    const { session, number } = this.#branch;
    session.kill(number, this.#generation);
    this.#deadline ??= session.deadline("the end of its process");
  }

  /** The head's link ended without an answer: it died, or it spoke nonsense and must go. */
  #linkBroke(error: unknown): Promise<CellEnd> {
    const isLost = error instanceof CellarError && error.code === "SESSION_LOST";
    if (isLost) {
      this.#after(DEATH_NOTICE_MS, () => this.#kill());
    } else {
      this.#breakOff(
        error instanceof CellarError
          ? error
          : new CellarError("PROTOCOL_ERROR", describeError(error), { cause: error }),
      );
    }
    return new Promise(() => {});
  }

  #breakOff(reason: CellarError): void {
    this.#broken = reason;
    this.#kill();
  }

  /** An answer counts when all output is there; a head that cannot deliver it must go. */
  #untilSettled(end: CellEnd): Promise<CellEnd> {
    if (this.#settled !== undefined) return Promise.resolve(end);
    return new Promise((resolve) => {
      this.#wakeSettled = () => resolve(end);
      const silent = new CellarError(
        "PROTOCOL_ERROR",
        "the session did not report the end of the cell's output",
      );
      this.#settling = this.#after(SETTLE_MS, () => this.#breakOff(silent));
      this.#after(LONGEST_SETTLE_MS, () => this.#breakOff(silent));
    });
  }
}

function timeLimit(milliseconds: number): string {
  return `its time limit of ${milliseconds / 1000} s`;
}

function totalLimit(milliseconds: number): string {
  return `the total time of its host calls (queryTotal, ${milliseconds / 1000} s)`;
}
