import { z } from "zod";
import { packageVersion } from "../../config/environment.js";
import { describeError } from "../../errors.js";
import { piecesOf } from "../../http/endpoint.js";
import { Fault } from "../../http/http-fault.js";
import { persist } from "../../http/retry.js";
import type { HttpAnswer } from "../../http/transport.js";
import type { OtlpSettings } from "./otlp-settings.js";
import { type OtlpSpan, otlpAttributes } from "./otlp-span.js";

const MAX_QUEUED_SPANS = 4_096;
const MAX_QUEUED_CHARACTERS = 32_000_000;
const MAX_BATCH_SPANS = 512;
const MAX_BATCH_CHARACTERS = 1_000_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_QUOTED = 300;
/** Spans wait no longer for others to be sent with. */
const PAUSE_MS = 5_000;
const RETRIES = 2;
const RETRY_DELAY_MS = 200;

const count = z.coerce.number().int().nonnegative();
const answerSchema = z.object({
  partialSuccess: z
    .object({ rejectedSpans: count.catch(0), errorMessage: z.string().catch("") })
    .partial()
    .optional(),
});

export interface Delivery {
  readonly sent: number;
  readonly lost: number;
  /** Why the first of them was. */
  readonly reason: string | undefined;
}

/** Sends spans to a collector, several at once. What cannot be sent is counted, and no more. */
export class OtlpQueue {
  readonly #settings: OtlpSettings;
  readonly #ending = new AbortController();
  #waiting: { readonly span: OtlpSpan; readonly size: number }[] = [];
  #size = 0;
  #sending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosing = false;
  #sent = 0;
  #lost = 0;
  #reason: string | undefined;

  constructor(settings: OtlpSettings) {
    this.#settings = settings;
  }

  add(span: OtlpSpan): void {
    const size = JSON.stringify(span).length;
    const isFull =
      this.#waiting.length >= MAX_QUEUED_SPANS || this.#size + size > MAX_QUEUED_CHARACTERS;
    if (this.#isClosing || isFull) {
      this.#lose(1, "too many were waiting");
      return;
    }
    this.#waiting.push({ span, size });
    this.#size += size;
    if (this.#waiting.length >= MAX_BATCH_SPANS || this.#size >= MAX_BATCH_CHARACTERS) {
      this.#send();
    } else {
      this.#timer ??= setTimeout(() => this.#send(), PAUSE_MS).unref();
    }
  }

  /** Sends what waits, for as long as one request may take. */
  async close(): Promise<Delivery> {
    this.#isClosing = true;
    const timer = setTimeout(() => this.#ending.abort(), this.#settings.timeoutMs);
    this.#send();
    await this.#sending;
    clearTimeout(timer);
    return { sent: this.#sent, lost: this.#lost, reason: this.#reason };
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#take();
      const isSent = await this.#sendBatch(batch);
      if (isSent || !this.#isClosing) continue;
      this.#lose(this.#waiting.length, "");
      this.#waiting = [];
    }
  }

  #take(): readonly OtlpSpan[] {
    let characters = 0;
    let length = 0;
    for (const { size } of this.#waiting.slice(0, MAX_BATCH_SPANS)) {
      if (length > 0 && characters + size > MAX_BATCH_CHARACTERS) break;
      characters += size;
      length += 1;
    }
    this.#size -= characters;
    return this.#waiting.splice(0, length).map(({ span }) => span);
  }

  async #sendBatch(batch: readonly OtlpSpan[]): Promise<boolean> {
    const { timeoutMs } = this.#settings;
    const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(timeoutMs)]);
    try {
      await persist(() => this.#post(batch, signal), {
        retries: RETRIES,
        delayMs: RETRY_DELAY_MS,
        signal,
        deadline: Date.now() + timeoutMs,
        judge: (error) =>
          error instanceof Fault && error.isPassing ? (error.pauseMs ?? 0) : undefined,
      });
      return true;
    } catch (error) {
      const late = `there was no answer within ${timeoutMs} ms`;
      this.#lose(batch.length, signal.aborted ? late : describeError(error));
      return false;
    }
  }

  async #post(batch: readonly OtlpSpan[], signal: AbortSignal): Promise<void> {
    const { endpoint, resource } = this.#settings;
    const response = await endpoint.post(
      {
        resourceSpans: [
          {
            resource: { attributes: otlpAttributes(resource) },
            scopeSpans: [{ scope: { name: "cellar", version: packageVersion() }, spans: batch }],
          },
        ],
      },
      signal,
    );
    const { rejectedSpans = 0, errorMessage = "" } = (await readAnswer(response)) ?? {};
    const refused = Math.min(rejectedSpans, batch.length);
    this.#sent += batch.length - refused;
    if (refused > 0) this.#lose(refused, endpoint.hide(errorMessage).slice(0, MAX_QUOTED));
  }

  #lose(spans: number, reason: string): void {
    this.#lost += spans;
    this.#reason ??= reason || "no reason given";
  }
}

/** Spans were taken, whatever else an answer says that cannot be read. */
async function readAnswer(response: HttpAnswer) {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of piecesOf(response, () => {}, MAX_ANSWER_BYTES)) pieces.push(piece);
    const answer: unknown = JSON.parse(Buffer.concat(pieces).toString("utf8"));
    return answerSchema.safeParse(answer).data?.partialSuccess;
  } catch {
    return undefined;
  }
}
