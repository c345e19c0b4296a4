import type { Duplex } from "node:stream";
import { CellarError, describeError } from "../errors.js";
import {
  excessOf,
  MAX_CHECKED_VALUES,
  MAX_FRAME_BYTES,
  MAX_JSON_VALUES,
  SURELY_CHEAP_BYTES,
} from "./bounds.js";
import { encodeBinaryFrame, encodeFrame, type Frame, FrameDecoder } from "./frames.js";
import type {
  Envelope,
  Method,
  NotificationMethod,
  Params,
  RequestMethod,
  Result,
} from "./messages.js";
import { TurnLimit } from "./turn-limit.js";

type Handler<M extends Method> = (params: Params<M>, attachments: readonly Buffer[]) => void;
type Responder<M extends RequestMethod> = (
  params: Params<M>,
  attachments: readonly Buffer[],
) => Promise<Result<M>>;
type Handlers = { [M in NotificationMethod]?: Handler<M> };

/** Answers that carry a user's value, which no schema walks through. */
const FREE_ANSWERS: ReadonlySet<RequestMethod> = new Set(["get_variable"]);

/** Questions of one link that are worked on; further ones are refused. */
const MAX_SERVED = 4096;
/** A side that asks and does not read the answers must not fill the memory with them. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
const MAX_DETAILS_CHARACTERS = 65_536;

const METHOD_NOT_FOUND = -32601;
const REFUSED = -32000;
const MAX_REASON_CHARACTERS = 16_384;

/** Validates what arrives: returns the value, or undefined if it is invalid. */
export interface Contract {
  envelope(value: unknown): Envelope | undefined;
  kind(method: string): "request" | "notification" | undefined;
  params(method: Method, value: unknown): Params<Method> | undefined;
  result(method: RequestMethod, value: unknown): unknown;
}

export interface ChannelOptions {
  readonly maxFrameBytes?: number;
  readonly maxUnreadBytes?: number;
  /** Limit for messages that carry no user value. */
  readonly maxValues?: number;
  /** Whether a refusal carries the details of its error, which may name paths of the host. */
  readonly tellsDetails?: boolean;
}

interface Pending {
  readonly method: RequestMethod;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: CellarError) => void;
}

interface Announced {
  readonly deliver: (attachments: readonly Buffer[]) => void;
  readonly sizes: readonly number[];
  readonly received: Buffer[];
}

/**
 * One side of a JSON-RPC link over any duplex stream. What arrives is hostile: it is parsed by
 * schema, unsolicited answers are dropped, and the first broken frame ends the link.
 */
export class Channel {
  readonly #stream: Duplex;
  readonly #contract: Contract;
  readonly #maxFrameBytes: number;
  readonly #maxUnreadBytes: number;
  readonly #maxValues: number;
  readonly #tellsDetails: boolean;
  readonly #decoder: FrameDecoder;
  readonly #pending = new Map<number, Pending>();
  readonly #handlers: Handlers = {};
  readonly #responders = new Map<string, Responder<RequestMethod>>();
  readonly #closed: Promise<CellarError>;
  #settleClosed: (reason: CellarError) => void = () => {};
  #announced: Announced | undefined;
  #nextId = 1;
  #serving = 0;
  #ended: CellarError | undefined;
  readonly #turnLimit = new TurnLimit(() => this.#continue());
  /** The rest of a chunk, for the next turn. */
  #rest: Generator<Frame> | undefined;
  /** Why the stream ended, while frames of it are left. */
  #leaving: CellarError | undefined;

  constructor(stream: Duplex, contract: Contract, options: ChannelOptions = {}) {
    this.#stream = stream;
    this.#contract = contract;
    this.#maxFrameBytes = options.maxFrameBytes ?? MAX_FRAME_BYTES;
    this.#maxUnreadBytes = options.maxUnreadBytes ?? MAX_UNREAD_BYTES;
    this.#maxValues = options.maxValues ?? MAX_CHECKED_VALUES;
    this.#tellsDetails = options.tellsDetails ?? false;
    this.#decoder = new FrameDecoder(this.#maxFrameBytes);
    this.#closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
    stream.on("data", (chunk: Buffer) => this.#receive(chunk));
    stream.on("error", (error) => this.#leave(error.message));
    stream.on("end", () => this.#leave("the other side left"));
    stream.on("close", () => this.#leave("the connection was closed"));
  }

  /** Settles once, with the reason the link ended. */
  get closed(): Promise<CellarError> {
    return this.#closed;
  }

  get isOpen(): boolean {
    return this.#ended === undefined;
  }

  on<M extends NotificationMethod>(method: M, handler: Handler<M>): void {
    (this.#handlers as Record<string, Handler<M>>)[method] = handler;
  }

  /** Answers the other side's requests; what the responder throws becomes the refusal. */
  serve<M extends RequestMethod>(method: M, responder: Responder<M>): void {
    this.#responders.set(method, responder as unknown as Responder<RequestMethod>);
  }

  /** `attachments` are the bodies of those that the parameters announce. */
  request<M extends RequestMethod>(
    method: M,
    params: Params<M>,
    attachments: readonly Uint8Array[] = [],
  ): Promise<Result<M>> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      const frame = encodeFrame({ jsonrpc: "2.0", id, method, params }, this.#maxFrameBytes);
      this.#pending.set(id, { method, resolve: resolve as (value: unknown) => void, reject });
      this.#stream.write(frame);
      for (const body of attachments) this.#stream.write(encodeBinaryFrame(body));
    });
  }

  notify<M extends NotificationMethod>(
    method: M,
    params: Params<M>,
    attachments: readonly Uint8Array[] = [],
  ): void {
    this.#send({ method, params }, attachments);
  }

  /** Pending requests fail with the reason. */
  close(reason = new CellarError("SESSION_CLOSED", "the connection was closed by the host")): void {
    this.#end(reason);
  }

  #receive(chunk: Buffer): void {
    if (this.#ended === undefined) this.#work(this.#decoder.push(chunk));
  }

  /** Lets other links run before this one continues with a flood. */
  #continue(): void {
    const rest = this.#rest;
    if (rest === undefined || this.#ended !== undefined) return;
    this.#rest = undefined;
    this.#work(rest);
    if (this.#rest !== undefined) return;
    if (this.#leaving !== undefined) this.#end(this.#leaving);
    else this.#stream.resume();
  }

  /** What the other side said before it left still counts. */
  #leave(why: string): void {
    const reason = new CellarError("SESSION_LOST", why);
    if (this.#rest === undefined) this.#end(reason);
    else this.#leaving ??= reason;
  }

  #work(frames: Generator<Frame>): void {
    let began = performance.now();
    try {
      for (let next = frames.next(); !next.done; next = frames.next()) {
        const { kind, body } = next.value;
        if (kind === "binary") this.#attach(body);
        else this.#dispatch(body);
        if (this.#ended !== undefined) return;
        const now = performance.now();
        if (this.#turnLimit.count(now - began)) {
          this.#stream.pause();
          this.#rest = frames;
          return;
        }
        began = now;
      }
    } catch (error) {
      this.#end(
        error instanceof CellarError
          ? error
          : new CellarError("PROTOCOL_ERROR", describeError(error), { cause: error }),
      );
    }
  }

  #dispatch(body: Buffer): void {
    if (this.#announced !== undefined) throw protocolError("attachments are missing");
    const awaitsValue = [...this.#pending.values()].some(carriesValue);
    refuseExcess(body, awaitsValue ? MAX_JSON_VALUES : this.#maxValues);
    const envelope = this.#contract.envelope(JSON.parse(body.toString("utf8")));
    if (envelope === undefined) throw protocolError("a message is not JSON-RPC 2.0");
    const asked = "result" in envelope ? this.#pending.get(envelope.id) : undefined;
    if (awaitsValue && !carriesValue(asked)) refuseExcess(body, this.#maxValues);
    if ("method" in envelope) this.#called(envelope.method, envelope.params, envelope.id);
    else if ("result" in envelope) this.#answered(envelope.id, envelope.result);
    else this.#failed(envelope.id, envelope.error);
  }

  #called(method: string, params: unknown, id: number | undefined): void {
    const kind = this.#contract.kind(method);
    if (kind === "notification") this.#notified(method as NotificationMethod, params);
    else if (id !== undefined) this.#asked(method, params, id);
  }

  #asked(method: string, params: unknown, id: number): void {
    const responder = this.#responders.get(method);
    if (responder === undefined) {
      this.#send({ id, error: { code: METHOD_NOT_FOUND, message: `unknown method ${method}` } });
      return;
    }
    if (this.#serving >= MAX_SERVED) {
      this.#send({ id, error: { code: REFUSED, message: "too many open requests" } });
      return;
    }
    const valid = this.#contract.params(method as RequestMethod, params);
    if (valid === undefined) throw protocolError(`invalid parameters of ${method}`);
    this.#serving += 1;
    this.#withAttachments(method, valid, (attachments) => {
      responder(valid as Params<RequestMethod>, attachments)
        .then((result) => this.#send({ id, result }))
        .catch((error: unknown) => this.#send({ id, error: rpcError(error, this.#tellsDetails) }))
        .finally(() => {
          this.#serving -= 1;
        });
    });
  }

  #send(message: object, attachments: readonly Uint8Array[] = []): void {
    if (this.#ended !== undefined) return;
    const frames = [
      encodeFrame({ jsonrpc: "2.0", ...message }, this.#maxFrameBytes),
      ...attachments.map(encodeBinaryFrame),
    ];
    if (this.#stream.writableLength > this.#maxUnreadBytes) {
      this.#end(protocolError("the other side does not read its answers"));
    } else {
      for (const frame of frames) this.#stream.write(frame);
    }
  }

  #notified(method: NotificationMethod, params: unknown): void {
    const value = this.#contract.params(method, params);
    if (value === undefined) throw protocolError(`invalid parameters of ${method}`);
    const handler = this.#handlers[method] as Handler<Method> | undefined;
    this.#withAttachments(method, value, (attachments) => handler?.(value, attachments));
  }

  #withAttachments(method: string, params: object, deliver: Announced["deliver"]): void {
    const sizes = announcedSizes(params);
    if (sizes.length === 0) {
      deliver([]);
      return;
    }
    if (sizes.reduce((sum, size) => sum + size) > this.#maxFrameBytes) {
      throw protocolError(`the attachments of ${method} exceed the limit of a message`);
    }
    this.#announced = { deliver, sizes, received: [] };
  }

  #attach(body: Buffer): void {
    const announced = this.#announced;
    if (announced === undefined) throw protocolError("an attachment was not announced");
    if (body.length !== announced.sizes[announced.received.length]) {
      throw protocolError("an attachment does not have the announced size");
    }
    announced.received.push(body);
    if (announced.received.length === announced.sizes.length) {
      this.#announced = undefined;
      announced.deliver(announced.received);
    }
  }

  #answered(id: number, result: unknown): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    const valid = this.#contract.result(pending.method, result);
    if (valid !== undefined) {
      pending.resolve(valid);
      return;
    }
    const error = protocolError(`invalid answer to ${pending.method}`);
    pending.reject(error);
    throw error;
  }

  #failed(id: number | null, { code, message, data }: RpcError): void {
    const pending = id === null ? undefined : this.#pending.get(id);
    if (id === null || pending === undefined) return;
    this.#pending.delete(id);
    const reason = message.slice(0, MAX_REASON_CHARACTERS);
    pending.reject(
      new CellarError("REMOTE_ERROR", reason, { details: { method: pending.method, code, data } }),
    );
  }

  #end(reason: CellarError): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    for (const pending of this.#pending.values()) pending.reject(reason);
    this.#pending.clear();
    this.#stream.destroy();
    this.#settleClosed(reason);
  }
}

function announcedSizes(params: object): readonly number[] {
  const { attachments = [] } = params as { attachments?: readonly { bytes: number }[] };
  return attachments.map(({ bytes }) => bytes);
}

type RpcError = Extract<Envelope, { error: unknown }>["error"];

function rpcError(error: unknown, tellsDetails: boolean): RpcError {
  const message = (describeError(error) || "no reason given").slice(0, MAX_REASON_CHARACTERS);
  if (!(error instanceof CellarError)) return { code: REFUSED, message };
  const { code, remedy } = error;
  const details = tellsDetails ? plainDetails(error.details) : undefined;
  return { code: REFUSED, message, data: { code, remedy, details } };
}

/** Details are for people; what JSON cannot say, or says at length, is left out. */
function plainDetails(details: CellarError["details"]): unknown {
  try {
    const said = JSON.stringify(details);
    return said.length <= MAX_DETAILS_CHARACTERS ? JSON.parse(said) : undefined;
  } catch {
    return undefined;
  }
}

function carriesValue(pending: Pending | undefined): boolean {
  return pending !== undefined && FREE_ANSWERS.has(pending.method);
}

function refuseExcess(body: Buffer, maxValues: number): void {
  if (body.length < SURELY_CHEAP_BYTES) return;
  const excess = excessOf(body, maxValues);
  if (excess !== undefined) throw protocolError(`a message ${excess}`);
}

function protocolError(message: string): CellarError {
  return new CellarError("PROTOCOL_ERROR", message);
}
