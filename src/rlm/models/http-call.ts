import { CellarError } from "../../errors.js";
import { AbortTimer } from "../../http/abort-timer.js";
import { piecesOf, readText } from "../../http/endpoint.js";
import { EventStreamDecoder } from "../../http/event-stream.js";
import { HttpFault } from "../../http/http-fault.js";
import { retry } from "../../http/retry.js";
import type { HttpResponse } from "../../http/transport.js";
import type { ModelReply, ModelRequest, ModelUsage } from "../model.js";
import type { CallPlan } from "./http-model.js";
import { addUsage, NO_USAGE, ReplyBuilder } from "./reply-builder.js";

/** Calls of a model over HTTP, with attempts and time limits. */
export class HttpCall {
  readonly #plan: CallPlan;

  constructor(plan: CallPlan) {
    this.#plan = plan;
  }

  async complete(request: ModelRequest): Promise<ModelReply> {
    if (request.signal?.aborted) throw givenUp(request.signal, undefined);
    using timer = new AbortTimer(request.signal, this.#plan.timeout);
    let builder = new ReplyBuilder();
    let attempts = 0;
    let lost = NO_USAGE;
    const attempt = async (): Promise<ModelReply> => {
      if (builder.isBegun) lost = addUsage(lost, await builder.usage(request.messages));
      attempts += 1;
      builder = new ReplyBuilder(request.onText);
      await this.#attempt(request, builder, timer.signal);
      return builder.reply(addUsage(lost, await builder.usage(request.messages)), this.#plan.name);
    };
    try {
      return await retry(attempt, {
        retries: this.#plan.retries,
        delayMs: this.#plan.delay,
        signal: timer.signal,
        deadline: Date.now() + this.#plan.timeout,
        canRetry: () => !builder.isHeard,
      });
    } catch (error) {
      if (!(error instanceof HttpFault) && !timer.signal.aborted) throw error;
      const spent = builder.isBegun ? addUsage(lost, await builder.usage(request.messages)) : lost;
      const usage = spent === NO_USAGE ? undefined : spent;
      if (timer.isTimeUp)
        throw this.#failure(timeUp("timeout", this.#plan.timeout), attempts, usage);
      if (!(error instanceof HttpFault) || timer.signal.aborted) throw givenUp(timer.signal, usage);
      throw this.#failure(error, attempts, usage);
    }
  }

  async #attempt(request: ModelRequest, builder: ReplyBuilder, signal: AbortSignal): Promise<void> {
    using timer = new AbortTimer(signal, this.#plan.isStream ? this.#plan.idle : undefined);
    try {
      const body = {
        ...this.#plan.body,
        ...this.#plan.format.buildRequest(request, this.#plan.isStream),
      };
      const response = await this.#plan.endpoint.post(body, timer.signal);
      timer.refresh();
      const type = response.headers.get("content-type") ?? "";
      if (/\bhtml\b/.test(type)) throw new HttpFault("the answer is a web page");
      // Not every server can stream.
      if (this.#plan.isStream && !/\bjson\b/.test(type))
        await this.#listen(response, builder, timer);
      else await this.#readWhole(response, builder, timer);
    } catch (error) {
      // Once the model has finished, a lost connection does not matter.
      builder.isWhole ||=
        builder.finish !== undefined && error instanceof HttpFault && error.isTransient;
      if (builder.isWhole && !signal.aborted) return;
      throw timer.isTimeUp ? timeUp("idleTimeout", this.#plan.idle) : error;
    }
  }

  async #listen(response: HttpResponse, builder: ReplyBuilder, timer: AbortTimer): Promise<void> {
    const { readEvent } = await this.#plan.format.answers();
    const decoder = new EventStreamDecoder();
    for await (const piece of piecesOf(response, timer.refresh)) {
      for (const data of decoder.push(piece)) readEvent(data, builder);
      if (builder.isWhole) return;
    }
    for (const data of decoder.end()) readEvent(data, builder);
    builder.isWhole ||= builder.finish !== undefined;
    if (!builder.isWhole) throw new HttpFault("the answer ends too early", { isTransient: true });
  }

  async #readWhole(
    response: HttpResponse,
    builder: ReplyBuilder,
    timer: AbortTimer,
  ): Promise<void> {
    const { readAnswer } = await this.#plan.format.answers();
    readAnswer(await readText(response, timer.refresh), builder);
    builder.isWhole = true;
  }

  #failure(fault: HttpFault, attempts: number, usage: ModelUsage | undefined): CellarError {
    return this.#plan.endpoint.failure(fault, {
      attempts,
      remedy: this.#plan.format.remedy?.(fault),
      details: { model: this.#plan.name, ...(usage !== undefined && { usage }) },
    });
  }
}

function timeUp(reason: "timeout" | "idleTimeout", limitMs: number): HttpFault {
  const seconds = limitMs / 1000;
  return reason === "timeout"
    ? new HttpFault(`no whole answer within ${seconds} s`, { reason })
    : new HttpFault(`nothing came for ${seconds} s`, { reason, isTransient: true });
}

/** The usage up to then was still charged. */
function givenUp(signal: AbortSignal, usage: ModelUsage | undefined): CellarError {
  return new CellarError("ABORTED", "the request to the model was cancelled", {
    details: { ...(usage !== undefined && { usage }) },
    cause: signal.reason,
  });
}
