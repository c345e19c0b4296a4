import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { invalid, Refusal } from "./refusal.js";

/** How long what is not wanted is still taken, so that its sender gets to read why. */
const DRAIN_MS = 2_000;

/** The JSON of a request that is not too long. */
export async function readJson(
  request: IncomingMessage,
  { limit, signal }: { readonly limit: number; readonly signal: AbortSignal },
): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.headers["content-type"] ?? "")) {
    throw new Refusal(415, "send JSON, with Content-Type: application/json");
  }
  const told = Number(request.headers["content-length"] ?? 0);
  if (told > limit) throw tooLong(limit);
  const bytes = await readBytes(request, limit, signal);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw invalid("the body is not JSON in UTF-8");
  }
}

async function readBytes(
  request: IncomingMessage,
  limit: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  const giveUp = () => void request.destroy();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    for await (const piece of piecesOf(request)) {
      size += piece.length;
      if (size > limit) throw tooLong(limit);
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

/** Unlike the request's own iterator this leaves the connection open when nobody reads on. */
async function* piecesOf(request: IncomingMessage): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    if (Buffer.isBuffer(piece)) yield piece;
  }
}

/** A connection that is closed before all was read may take the answer with it. */
export async function drain(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return;
  const done = new AbortController();
  for (const event of ["end", "close", "error"]) request.once(event, () => done.abort());
  request.resume();
  await sleep(DRAIN_MS, undefined, { signal: done.signal }).catch(() => {});
}

function tooLong(limit: number): Refusal {
  return new Refusal(413, `the request has over ${limit} bytes`, {
    code: "request_too_large",
    headers: { connection: "close" },
  });
}
