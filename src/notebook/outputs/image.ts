export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** The kinds that every viewer shows, best first, and how their bytes begin. */
const KINDS: readonly (readonly [mime: string, begins: string])[] = [
  ["image/png", "89504e470d0a1a0a"],
  ["image/jpeg", "ffd8ff"],
  ["image/gif", "47494638"],
  ["image/webp", "52494646"],
];

const SEGMENT_LIMIT = 1_000;

/** The best image whose bytes match its type. */
export function bestImage(
  binary: Readonly<Record<string, Uint8Array>>,
): { readonly mime: string; readonly bytes: Uint8Array } | undefined {
  for (const [mime, begins] of KINDS) {
    const bytes = Object.hasOwn(binary, mime) ? binary[mime] : undefined;
    if (bytes !== undefined && viewOf(bytes).toString("hex", 0, begins.length / 2) === begins) {
      return { mime, bytes };
    }
  }
  return undefined;
}

/** From the header; undefined where it is cut short or invalid. */
export function imageSize(mime: string, bytes: Uint8Array): ImageSize | undefined {
  const view = viewOf(bytes);
  switch (mime) {
    case "image/png":
      return view.length >= 24 && view.toString("latin1", 12, 16) === "IHDR"
        ? { width: view.readUInt32BE(16), height: view.readUInt32BE(20) }
        : undefined;
    case "image/jpeg":
      return jpegSize(view);
    case "image/gif":
      return view.length >= 10
        ? { width: view.readUInt16LE(6), height: view.readUInt16LE(8) }
        : undefined;
    default:
      return undefined;
  }
}

function jpegSize(view: Buffer): ImageSize | undefined {
  let at = 2;
  for (let segment = 0; segment < SEGMENT_LIMIT && at + 9 <= view.length; segment++) {
    if (view[at] !== 0xff) return undefined;
    const marker = view[at + 1] ?? 0;
    if (marker === 0xff) {
      at += 1;
    } else if (isFrame(marker)) {
      return { width: view.readUInt16BE(at + 7), height: view.readUInt16BE(at + 5) };
    } else {
      at += 2 + Math.max(2, view.readUInt16BE(at + 2));
    }
  }
  return undefined;
}

/** Of this range three markers hold tables instead. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
