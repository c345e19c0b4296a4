import { describe, expect, test } from "vitest";
import { encodeFrame, type Frame, FrameDecoder } from "./frames.js";
import { MAX_FRAME_BYTES } from "./messages.js";

function header(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
}

function binaryFrame(body: Buffer): Buffer {
  return Buffer.concat([header(body.length + 1), Buffer.from([0]), body]);
}

function seen(frame: Frame): string {
  return `${frame.kind}:${frame.body.toString("latin1")}`;
}

/** Copies each body at once: it may be a view of the chunk. */
function decodeAll(decoder: FrameDecoder, ...chunks: Buffer[]): string[] {
  return chunks.flatMap((chunk) => [...decoder.push(chunk)].map(seen));
}

const stream = Buffer.concat([
  encodeFrame({ a: 1 }),
  binaryFrame(Buffer.from([0, 1, 255])),
  encodeFrame("é😀"),
  binaryFrame(Buffer.alloc(0)),
]);
const whole = decodeAll(new FrameDecoder(), stream);

describe("encodeFrame", () => {
  test("writes a big-endian length and UTF-8 JSON", () => {
    expect(encodeFrame({ k: "é" })).toEqual(
      Buffer.concat([Buffer.from([0, 0, 0, 10]), Buffer.from('{"k":"é"}', "utf8")]),
    );
  });

  test("keeps a lone surrogate as an escape", () => {
    expect(encodeFrame("\ud800").subarray(4).toString()).toBe('"\\ud800"');
  });

  test("refuses a message above the limit", () => {
    expect(() => encodeFrame("x".repeat(MAX_FRAME_BYTES))).toThrowError(
      expect.objectContaining({ code: "TOO_LARGE" }),
    );
    expect(encodeFrame("x".repeat(MAX_FRAME_BYTES - 2))).toHaveLength(MAX_FRAME_BYTES + 4);
  });
});

describe("FrameDecoder", () => {
  test("finds several frames in one chunk", () => {
    expect(whole).toEqual([
      'json:{"a":1}',
      "binary:\x00\x01\xff",
      `json:${Buffer.from('"é😀"').toString("latin1")}`,
      "binary:",
    ]);
  });

  test("gives the same frames wherever the stream is cut", () => {
    for (let cut = 0; cut <= stream.length; cut++) {
      const parts = [stream.subarray(0, cut), stream.subarray(cut)];
      expect(decodeAll(new FrameDecoder(), ...parts)).toEqual(whole);
    }
  });

  test("takes the stream byte by byte", () => {
    const bytes = Array.from(stream, (_, index) => stream.subarray(index, index + 1));
    expect(decodeAll(new FrameDecoder(), ...bytes)).toEqual(whole);
  });

  test("waits for the end of a frame", () => {
    const decoder = new FrameDecoder();
    expect(decodeAll(decoder, stream.subarray(0, 10))).toEqual([]);
    expect(decodeAll(decoder, Buffer.alloc(0))).toEqual([]);
    expect(decodeAll(decoder, stream.subarray(10))).toEqual(whole);
  });

  test.each([0, MAX_FRAME_BYTES + 1, 0x7fffffff, 0xffffffff])(
    "refuses a length of %d",
    (length) => {
      const decoder = new FrameDecoder();
      expect(() => decodeAll(decoder, header(length))).toThrowError(
        expect.objectContaining({ code: "PROTOCOL_ERROR" }),
      );
      expect(decoder.reserved).toBe(0);
    },
  );

  test("takes a frame at the limit and refuses one byte more", () => {
    const frame = Buffer.concat([header(8), Buffer.from('"123456"')]);
    expect(decodeAll(new FrameDecoder(8), frame)).toEqual(['json:"123456"']);
    expect(() => decodeAll(new FrameDecoder(7), frame)).toThrowError(
      expect.objectContaining({ code: "PROTOCOL_ERROR" }),
    );
  });

  test("gives what came before a broken frame", () => {
    const found: string[] = [];
    const chunk = Buffer.concat([encodeFrame(1), header(0)]);
    expect(() => {
      for (const frame of new FrameDecoder().push(chunk)) found.push(seen(frame));
    }).toThrow();
    expect(found).toEqual(["json:1"]);
  });

  test("a length claims no memory before its bytes arrive", () => {
    const decoder = new FrameDecoder();
    decodeAll(decoder, header(MAX_FRAME_BYTES));
    expect(decoder.reserved).toBe(0);
    decodeAll(decoder, Buffer.from("1"));
    expect(decoder.reserved).toBeLessThanOrEqual(64 * 1024);
  });

  test("tiny chunks claim no more than twice what they carry", () => {
    const decoder = new FrameDecoder();
    decodeAll(decoder, header(MAX_FRAME_BYTES));
    const byte = Buffer.from("1");
    let worst = 0;
    for (let sent = 1; sent <= 300_000; sent++) {
      decoder.push(byte).next();
      worst = Math.max(worst, decoder.reserved - 2 * sent);
    }
    expect(decoder.reserved).toBeGreaterThanOrEqual(300_000);
    expect(worst).toBeLessThan(64 * 1024);
  });

  test("lets go of a frame that was given", () => {
    const decoder = new FrameDecoder();
    const frame = encodeFrame("x".repeat(100_000));
    expect(decodeAll(decoder, frame.subarray(0, 50_000), frame.subarray(50_000))).toHaveLength(1);
    expect(decoder.reserved).toBe(0);
  });
});
