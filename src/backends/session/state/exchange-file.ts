import { createReadStream, createWriteStream, ftruncateSync } from "node:fs";
import { pipeline } from "node:stream/promises";

export function readExchange(descriptor: number): AsyncIterable<Buffer> {
  return createReadStream("", { fd: descriptor, start: 0, autoClose: false });
}

export async function fillExchange(descriptor: number, file: string): Promise<void> {
  ftruncateSync(descriptor, 0);
  const target = createWriteStream("", { fd: descriptor, start: 0, autoClose: false });
  await pipeline(createReadStream(file), target);
}
