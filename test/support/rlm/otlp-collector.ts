import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

const attributes = z.array(
  z.object({ key: z.string().min(1), value: z.record(z.string(), z.unknown()) }),
);
const spanSchema = z.object({
  traceId: z.string().regex(/^(?!0+$)[0-9a-f]{32}$/),
  spanId: z.string().regex(/^(?!0+$)[0-9a-f]{16}$/),
  parentSpanId: z.string().optional(),
  name: z.string().min(1),
  kind: z.int().min(1).max(5),
  attributes,
});
const requestSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes }),
      scopeSpans: z.array(z.object({ spans: z.array(spanSchema) })),
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
