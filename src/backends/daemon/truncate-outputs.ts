import type { CodeExecution, Output } from "../backend.js";
import { wholeEnd } from "../session/context/context.js";

type StreamName = "stdout" | "stderr";
type Omitted = CodeExecution["omitted"];

/** A text is measured and cut in slices of this length. */
const SLICE_CHARACTERS = 16 * 1024;
/** `\u0000`: no character of a text takes more in JSON. */
const MOST_BYTES_PER_CHARACTER = 6;
const PIECE_BYTES = Buffer.byteLength(JSON.stringify({ type: "display", index: 0xffff_ffff })) + 1;
const NOTICE_BYTES = 256;

export interface TruncatedOutputs {
  readonly outputs: readonly Output[];
  readonly omitted: Omitted;
}

interface Slice {
  readonly text: string;
  readonly bytes: number;
}

interface Cut {
  /** Slices of the stream, counted through its pieces, from the first to before the second. */
  readonly from: number;
  readonly to: number;
  readonly notice: string;
}

/** Whether text of this length surely takes no more than so many bytes of JSON. */
export function surelyFits(outputs: readonly Output[], maxBytes: number): boolean {
  const characters = outputs.reduce((sum, output) => sum + textOf(output).length, 0);
  return characters * MOST_BYTES_PER_CHARACTER + outputs.length * PIECE_BYTES <= maxBytes;
}

/** Leaves out the middle of streams that are too long together, and says so at that place. */
export function truncateOutputs(
  { outputs, omitted }: TruncatedOutputs,
  maxBytes: number,
): TruncatedOutputs {
  const sliced = outputs.map((output) => slicesOf(textOf(output)));
  const slices = (stream: StreamName) =>
    outputs.flatMap(({ type }, index) => (type === stream ? (sliced[index] ?? []) : []));
  const available = maxBytes - outputs.length * PIECE_BYTES - 2 * NOTICE_BYTES;
  const streams = { stdout: slices("stdout"), stderr: slices("stderr") };
  const sizes = { stdout: total(streams.stdout), stderr: total(streams.stderr) };
  const counts = { ...omitted };
  const cuts: { [S in StreamName]?: Cut } = {};
  for (const [stream, other] of [["stdout", "stderr"] as const, ["stderr", "stdout"] as const]) {
    const share = Math.max(available / 2, available - sizes[other]);
    if (sizes[stream] <= share) continue;
    const { from, to } = middleOf(streams[stream], share);
    const dropped = streams[stream].slice(from, to);
    counts[stream] += dropped.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    const said = counts[stream].toLocaleString("en-US");
    cuts[stream] = { from, to, notice: `\n... [${said} bytes omitted] ...\n` };
  }
  return { outputs: withoutMiddles(outputs, sliced, cuts), omitted: counts };
}

function withoutMiddles(
  outputs: readonly Output[],
  sliced: readonly (readonly Slice[])[],
  cuts: { readonly [S in StreamName]?: Cut },
): readonly Output[] {
  const passed = { stdout: 0, stderr: 0 };
  return outputs.flatMap((output, index): Output[] => {
    if (output.type === "display") return [output];
    const { type } = output;
    const cut = cuts[type];
    if (cut === undefined) return [output];
    const kept = (sliced[index] ?? []).map((slice) => {
      const at = passed[type]++;
      if (at < cut.from || at >= cut.to) return slice.text;
      return at === cut.from ? cut.notice : "";
    });
    const text = kept.join("");
    return text === "" ? [] : [{ ...output, text }];
  });
}

/** The slices between the start and the end that are kept. */
function middleOf(slices: readonly Slice[], available: number): { from: number; to: number } {
  const from = within(slices, available / 2);
  const tail = within(slices.slice(from).reverse(), available / 2);
  return { from, to: slices.length - tail };
}

function within(slices: readonly Slice[], available: number): number {
  let bytes = 0;
  const end = slices.findIndex((slice) => {
    bytes += slice.bytes;
    return bytes > available;
  });
  return end === -1 ? slices.length : end;
}

function slicesOf(text: string): Slice[] {
  const slices: Slice[] = [];
  for (let at = 0; at < text.length; ) {
    const end = wholeEnd(text, at + SLICE_CHARACTERS);
    const slice = text.slice(at, end);
    slices.push({ text: slice, bytes: Buffer.byteLength(JSON.stringify(slice)) - 2 });
    at = end;
  }
  return slices;
}

function total(slices: readonly Slice[]): number {
  return slices.reduce((sum, { bytes }) => sum + bytes, 0);
}

function textOf(output: Output): string {
  return output.type === "display" ? "" : output.text;
}
