import type { Readable } from "node:stream";

const TAIL_CHARACTERS = 8192;

/** Reads the stream and returns the end of what it has said so far. */
export function tailOf(stream: Readable | null): () => string {
  let text = "";
  stream?.setEncoding("utf8");
  stream?.on("data", (chunk: string) => {
    text = (text + chunk).slice(-TAIL_CHARACTERS);
  });
  return () => text.trim();
}
