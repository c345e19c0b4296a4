import { inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Samples of a pixel by colour type. */
const SAMPLES: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const MAX_PIXELS = 100_000_000;

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** The unfiltered rows with what says how to read them; undefined for forms that are not read. */
  readonly pixels: Buffer | undefined;
}

/** Undefined where the bytes are no PNG. */
export function readPng(bytes: Buffer): Picture | undefined {
  if (bytes.length < 33 || !bytes.subarray(0, 8).equals(SIGNATURE)) return undefined;
  const width = bytes.readUInt32BE(16);
  const height = bytes.readUInt32BE(20);
  const depth = bytes[24];
  const colour = bytes[25] ?? 0;
  const samples = SAMPLES[colour];
  const isPlain = depth === 8 && samples !== undefined && bytes[28] === 0;
  if (!isPlain || width * height > MAX_PIXELS) return { width, height, pixels: undefined };
  const { data, palette } = chunksOf(bytes);
  const row = width * samples;
  try {
    const raw = inflateSync(data, { maxOutputLength: (row + 1) * height });
    const head = Buffer.concat([Buffer.from([colour]), palette]);
    return {
      width,
      height,
      pixels: Buffer.concat([head, unfilter(raw, { row, height, samples })]),
    };
  } catch {
    return { width, height, pixels: undefined };
  }
}

/** How two images differ: not at all, in what is seen, or in their size. */
export function compareImages(one: Buffer, other: Buffer): "equal" | "pixels" | "size" {
  if (one.equals(other)) return "equal";
  const [a, b] = [readPng(one), readPng(other)];
  if (a === undefined || b === undefined) return "pixels";
  if (a.width !== b.width || a.height !== b.height) return "size";
  const known = a.pixels !== undefined && b.pixels !== undefined;
  return known && a.pixels.equals(b.pixels) ? "equal" : "pixels";
}

function chunksOf(bytes: Buffer): { data: Buffer; palette: Buffer } {
  const data: Buffer[] = [];
  const palette: Buffer[] = [];
  for (let at = 8; at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const kind = bytes.toString("latin1", at + 4, at + 8);
    const content = bytes.subarray(at + 8, at + 8 + length);
    if (kind === "IDAT") data.push(content);
    if (kind === "PLTE" || kind === "tRNS") palette.push(content);
    at += 12 + length;
  }
  return { data: Buffer.concat(data), palette: Buffer.concat(palette) };
}

function unfilter(
  raw: Buffer,
  { row, height, samples }: { row: number; height: number; samples: number },
): Buffer {
  const out = Buffer.alloc(row * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (row + 1)];
    for (let x = 0; x < row; x++) {
      const at = y * row + x;
      const left = x < samples ? 0 : (out[at - samples] ?? 0);
      const up = y === 0 ? 0 : (out[at - row] ?? 0);
      const corner = x < samples || y === 0 ? 0 : (out[at - row - samples] ?? 0);
      out[at] = (raw[y * (row + 1) + 1 + x] ?? 0) + predict(filter, left, up, corner);
    }
  }
  return out;
}

function predict(filter: number | undefined, left: number, up: number, corner: number): number {
  switch (filter) {
    case 1:
      return left;
    case 2:
      return up;
    case 3:
      return (left + up) >> 1;
    case 4:
      return paeth(left, up, corner);
    default:
      return 0;
  }
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const byLeft = Math.abs(guess - left);
  const byUp = Math.abs(guess - up);
  const byCorner = Math.abs(guess - corner);
  if (byLeft <= byUp && byLeft <= byCorner) return left;
  return byUp <= byCorner ? up : corner;
}
