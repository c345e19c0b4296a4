import { AbortTimer } from "../../http/abort-timer.js";
import { piecesOf, reasonOf } from "../../http/endpoint.js";
import { ToolError } from "../tool.js";
import type { HttpRequest } from "./request.js";

const MOST_REDIRECTS = 5;

export interface ExchangeLimits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

/** Sends a request and reads its answer. Redirects are followed within the origin only: elsewhere nobody may get the credentials. */
export async function exchange(
  fetch: typeof globalThis.fetch,
  request: HttpRequest,
  { timeoutMs, maxBytes }: ExchangeLimits,
  outer: AbortSignal,
): Promise<HttpAnswer> {
  using timer = new AbortTimer(outer, timeoutMs);
  try {
    const response = await follow(fetch, request, timer.signal);
    const { status, statusText, headers } = response;
    const bytes = await readBytes(response, maxBytes);
    return { status, statusText, headers, bytes };
  } catch (error) {
    if (outer.aborted) throw new ToolError("CANCELLED", "the call was cancelled");
    if (timer.isTimeUp) {
      throw new ToolError("TIMEOUT", `${request.url.host} did not answer within ${timeoutMs} ms`);
    }
    if (error instanceof ToolError) throw error;
    throw new ToolError("UNAVAILABLE", `${request.url.host} cannot be reached: ${reasonOf(error)}`);
  }
}

async function follow(
  fetch: typeof globalThis.fetch,
  first: HttpRequest,
  signal: AbortSignal,
): Promise<Response> {
  let request = first;
  for (let step = 0; step <= MOST_REDIRECTS; step++) {
    const { url, method, headers, body } = request;
    const response = await fetch(url, {
      method,
      headers,
      signal,
      redirect: "manual",
      ...(body !== undefined && { body }),
    });
    const target = response.headers.get("location");
    if (![301, 302, 303, 307, 308].includes(response.status) || target === null) return response;
    await response.body?.cancel();
    request = redirected(request, response.status, target);
  }
  throw new ToolError("FAILED", `${first.url.host} redirects more than ${MOST_REDIRECTS} times`);
}

function redirected(request: HttpRequest, status: number, target: string): HttpRequest {
  const url = URL.canParse(target, request.url.href) ? new URL(target, request.url) : undefined;
  if (
    url === undefined ||
    url.origin !== request.url.origin ||
    url.username + url.password !== ""
  ) {
    const where = url === undefined ? "an address that cannot be read" : url.origin;
    throw new ToolError("FAILED", `${request.url.host} redirects to ${where}, which is refused`, {
      remedy: "If that is the service's address now, give it as baseUrl.",
    });
  }
  if (status >= 307 || request.method === "GET" || request.method === "HEAD") {
    return { ...request, url };
  }
  const headers = new Headers(request.headers);
  headers.delete("content-type");
  return { method: "GET", url, headers, body: undefined };
}

async function readBytes(response: Response, maxBytes: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const body = response.body?.getReader();
  const onPiece = (bytes: number) => {
    if (bytes <= maxBytes) return;
    throw new ToolError("TOO_LARGE", `the answer has more than ${maxBytes} bytes`, {
      remedy: "Ask for less, for example for a page.",
    });
  };
  for await (const piece of piecesOf({ body }, onPiece, Number.POSITIVE_INFINITY))
    pieces.push(piece);
  return Buffer.concat(pieces);
}
