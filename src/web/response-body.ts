import type { IncomingMessage } from "node:http";
import type { Readable, Transform } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { describeError } from "../errors.js";
import { tooLarge, unreadable } from "./failures.js";

export const ACCEPTED_CODINGS = "gzip, deflate, br";
const PIECE_BYTES = 65_536;
const ENDED_EARLY = "the connection ended before the answer did";

/** The whole body, unpacked. What is more than `maxBytes`, packed or not, is never held. */
export function readBody(
  message: IncomingMessage,
  name: string,
  maxBytes: number,
): Promise<Buffer> {
  // A length that is too large is believed; one that is too small changes nothing.
  if (Number(message.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(name, maxBytes);
  const unpacking = unpackingOf(message.headers["content-encoding"], name);
  return new Promise((resolve, reject) => {
    const end = (error: unknown): void => {
      message.destroy();
      unpacking?.destroy();
      reject(error);
    };
    message.once("error", (error) => end(unreadable(name, brokenBody(error), error)));
    message.once("close", () => {
      if (!message.complete) end(unreadable(name, ENDED_EARLY));
    });
    if (unpacking !== undefined) {
      // A bomb's packed bytes are few, those of a coding that does not shrink are not.
      message.on(
        "data",
        limitOf(maxBytes, () => end(tooLarge(name, maxBytes))),
      );
      unpacking.once("error", (error) =>
        end(unreadable(name, "its body is not packed as it says", error)),
      );
      message.pipe(unpacking);
    }
    collect(unpacking ?? message, maxBytes, resolve, () => end(tooLarge(name, maxBytes)));
  });
}

function brokenBody(error: NodeJS.ErrnoException): string {
  return error.code === "ECONNRESET" ? ENDED_EARLY : describeError(error);
}

function limitOf(most: number, onMore: () => void): (piece: Buffer) => void {
  let bytes = 0;
  return (piece) => {
    bytes += piece.length;
    if (bytes > most) onMore();
  };
}

function collect(
  source: Readable,
  most: number,
  onEnd: (body: Buffer) => void,
  onMore: () => void,
): void {
  const pieces: Buffer[] = [];
  let bytes = 0;
  source.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > most) onMore();
    else pieces.push(piece);
  });
  source.once("end", () =>
    onEnd(pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces, bytes)),
  );
}

function unpackingOf(coding: string | undefined, name: string): Transform | undefined {
  const kind = (coding ?? "").trim().toLowerCase();
  const options = { chunkSize: PIECE_BYTES };
  switch (kind) {
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
      return createGunzip(options);
    case "deflate":
      return createInflate(options);
    case "br":
      return createBrotliDecompress({
        ...options,
        params: { [constants.BROTLI_DECODER_PARAM_LARGE_WINDOW]: 0 },
      });
    default:
      throw unreadable(name, `its coding ${JSON.stringify(kind.slice(0, 60))} was not asked for`);
  }
}
