import { randomBytes } from "node:crypto";
import type { SpanBegin, SpanEnd, SpanMark, SpanSink } from "./run-spans.js";
import type { SpanAttributes, SpanKind, SpanValue } from "./span-facts.js";

/** Numbers that are no counts have one type, whatever value they happen to have. */
const FRACTIONS = new Set(["cellar.cost", "cellar.left.dollars", "cellar.left.seconds"]);
const MAX_EVENTS = 128;

type OtlpScalar =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly intValue: string }
  | { readonly doubleValue: number };

type OtlpValue = OtlpScalar | { readonly arrayValue: { readonly values: readonly OtlpScalar[] } };

export interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}

interface OtlpEvent {
  readonly timeUnixNano: string;
  readonly name: string;
  readonly attributes: readonly OtlpAttribute[];
}

/** A span in the JSON form of OTLP. */
export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly events: readonly OtlpEvent[];
  readonly droppedEventsCount: number;
  readonly status: { readonly code?: number; readonly message?: string };
}

const KINDS: Readonly<Record<SpanKind, number>> = { internal: 1, client: 3 };
const STATUS_ERROR = 2;

interface Begun extends SpanBegin {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly events: OtlpEvent[];
  dropped: number;
}

/** Hands each span on when it is whole. */
export class OtlpSink implements SpanSink {
  readonly #deliver: (span: OtlpSpan) => void;
  readonly #begun = new Map<string, Begun>();

  constructor(deliver: (span: OtlpSpan) => void) {
    this.#deliver = deliver;
  }

  begin(span: SpanBegin): void {
    const above = span.parent === undefined ? undefined : this.#begun.get(span.parent);
    this.#begun.set(span.key, {
      ...span,
      traceId: above?.traceId ?? randomBytes(16).toString("hex"),
      spanId: randomBytes(8).toString("hex"),
      parentSpanId: above?.spanId,
      events: [],
      dropped: 0,
    });
  }

  mark({ key, name, attributes, at }: SpanMark): void {
    const span = this.#begun.get(key);
    if (span === undefined) return;
    if (span.events.length >= MAX_EVENTS) span.dropped += 1;
    else
      span.events.push({
        timeUnixNano: nanosecondsOf(at),
        name,
        attributes: otlpAttributes(attributes),
      });
  }

  end({ key, attributes, error, at }: SpanEnd): void {
    const span = this.#begun.get(key);
    if (span === undefined) return;
    this.#begun.delete(key);
    const { traceId, spanId, parentSpanId, name, kind, events } = span;
    const message = error?.message;
    this.#deliver({
      traceId,
      spanId,
      ...(parentSpanId !== undefined && { parentSpanId }),
      name,
      kind: KINDS[kind],
      startTimeUnixNano: nanosecondsOf(span.at),
      endTimeUnixNano: nanosecondsOf(at),
      attributes: otlpAttributes({ ...span.attributes, ...attributes }),
      events,
      droppedEventsCount: span.dropped,
      status:
        error === undefined
          ? {}
          : { code: STATUS_ERROR, ...(message !== undefined && { message }) },
    });
  }
}

export function otlpAttributes(attributes: SpanAttributes): OtlpAttribute[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: otlpValue(key, value) }));
}

function otlpValue(key: string, value: SpanValue): OtlpValue {
  if (typeof value !== "object") return scalarOf(key, value);
  return { arrayValue: { values: value.map((item) => scalarOf(key, item)) } };
}

function scalarOf(key: string, value: string | number | boolean): OtlpScalar {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  const isCount = Number.isSafeInteger(value) && !FRACTIONS.has(key);
  return isCount ? { intValue: String(value) } : { doubleValue: value };
}

/** As text: a number of JavaScript has too few digits. */
function nanosecondsOf(at: number): string {
  const whole = Math.floor(at);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((at - whole) * 1e6)));
}
