import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

const scalar = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ boolValue: z.boolean() }),
  z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }),
  z.strictObject({ doubleValue: z.number() }),
]);
const attributes = z.array(
  z.strictObject({
    key: z.string().min(1),
    value: z.union([
      scalar,
      z.strictObject({ arrayValue: z.strictObject({ values: z.array(scalar) }) }),
    ]),
  }),
);
const time = z.string().regex(/^\d{19}$/);
const spanSchema = z.strictObject({
  traceId: z.string().regex(/^(?!0+$)[0-9a-f]{32}$/),
  spanId: z.string().regex(/^(?!0+$)[0-9a-f]{16}$/),
  parentSpanId: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
  name: z.string().min(1),
  kind: z.int().min(1).max(5),
  startTimeUnixNano: time,
  endTimeUnixNano: time,
  attributes,
  events: z.array(z.strictObject({ timeUnixNano: time, name: z.string().min(1), attributes })),
  droppedEventsCount: z.int().nonnegative(),
  status: z.strictObject({ code: z.literal(2).optional(), message: z.string().optional() }),
});
/** What OTLP says of its JSON form, and nothing else. */
const requestSchema = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeSpans: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.string(), version: z.string() }),
          spans: z.array(spanSchema),
        }),
      ),
    }),
  ),
});

export type CollectedSpan = z.infer<typeof spanSchema>;

export interface Collected {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface CollectorAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly latencyMs?: number;
  /** Nothing is answered at all. */
  readonly isSilent?: boolean;
}

/** A collector on loopback that takes OTLP as JSON. */
export class Collector implements AsyncDisposable {
  readonly requests: Collected[] = [];
  readonly #server: Server;

  private constructor(answer: (number: number) => CollectorAnswer) {
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece));
      request.on("end", async () => {
        const { method = "", url: path = "", headers } = request;
        const text = Buffer.concat(pieces).toString("utf8");
        this.requests.push({ method, path, headers, text });
        const { status = 200, body = "{}", isSilent, ...rest } = answer(this.requests.length);
        if (isSilent === true) return;
        await sleep(rest.latencyMs ?? 0);
        response.writeHead(status, { "content-type": "application/json", ...rest.headers });
        response.end(body);
      });
    });
  }

  static async open(answer: (number: number) => CollectorAnswer = () => ({})): Promise<Collector> {
    const collector = new Collector(answer);
    await new Promise<void>((resolve) => collector.#server.listen(0, "127.0.0.1", resolve));
    return collector;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Fails where a request has another form. */
  get bodies(): z.infer<typeof requestSchema>[] {
    return this.requests.map(({ text }) => requestSchema.parse(JSON.parse(text)));
  }

  get spans(): CollectedSpan[] {
    return this.bodies
      .flatMap(({ resourceSpans }) => resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap(({ spans }) => spans);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}
