import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { onAbort } from "../../concurrency/abort.js";
import { excessOf, MAX_CHECKED_VALUES } from "../../protocol/bounds.js";
import type { BodyIntake } from "./body-intake.js";
import { HttpError, invalid } from "./http-error.js";

/** How long a refused body is still read, so that its sender gets the response. */
const DRAIN_MS = 2_000;

export interface BodyLimits {
  readonly limit: number;
  readonly signal: AbortSignal;
  readonly intake: BodyIntake;
}

/** The JSON of a request that is not too long. */
export async function readJson(
  request: IncomingMessage,
  { limit, signal, intake }: BodyLimits,
): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.headers["content-type"] ?? "")) {
    throw new HttpError(415, "send JSON, with Content-Type: application/json");
  }
  const told = Number(request.headers["content-length"] ?? 0);
  if (told > limit) throw tooLong(limit);
  const bytes = await readBytes(request, { limit, signal, intake });
  // Checked on the bytes: parsing alone would block other requests.
  const excess = excessOf(bytes, MAX_CHECKED_VALUES);
  if (excess !== undefined) throw invalid(`the body ${excess}`);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw invalid("the body is not JSON in UTF-8");
  }
}

async function readBytes(
  request: IncomingMessage,
  { limit, signal, intake }: BodyLimits,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  using place = intake.enter();
  // A request that comes while the server closes is still read, and refused.
  using _ = signal.aborted ? undefined : onAbort(signal, () => request.destroy());
  const coming = piecesOf(request);
  for (;;) {
    const next = await Promise.race([coming.next(), place.ended]);
    if (next.done === true) return Buffer.concat(pieces);
    size += next.value.length;
    if (size > limit) throw tooLong(limit);
    place.take(next.value.length);
    pieces.push(next.value);
  }
}

/** Unlike the request's own iterator, this leaves the connection open when reading stops. */
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

function tooLong(limit: number): HttpError {
  return new HttpError(413, `the request has over ${limit} bytes`, {
    code: "request_too_large",
    headers: { connection: "close" },
  });
}
