import { normalise } from "./normalise.js";
import { compareImages } from "./png.js";
import type { CellRecord, NotebookOutput } from "./record.js";

/** In which respects two runs of a cell can differ; in the order in which they are told. */
export const CLASSES = [
  "state",
  "error class",
  "error text",
  "stdout",
  "stderr",
  "text",
  "html",
  "rich",
  "mime",
  "images",
  "pixels",
  "outputs",
  "order",
] as const;
export type DifferenceClass = (typeof CLASSES)[number];

export interface Difference {
  readonly what: DifferenceClass;
  readonly cellar: string;
  readonly jupyter: string;
}

/** Cellar's own facts about a table, beside the representations that Jupyter has too. */
const OWN_MIMES = ["application/vnd.cellar.table+json"];
const TEXTS: Readonly<Record<string, DifferenceClass>> = {
  "text/plain": "text",
  "text/html": "html",
};

type Shown = Exclude<NotebookOutput, { output_type: "stream" | "error" }>;

/** What a cell made, taken apart by the respects in which it is compared. */
interface Facts {
  readonly state: string;
  readonly errors: readonly string[];
  readonly messages: readonly string[];
  readonly streams: ReadonlyMap<string, string>;
  /** One for each display or result. */
  readonly texts: readonly string[];
  readonly html: readonly string[];
  readonly rich: readonly string[];
  readonly mimes: readonly string[];
  readonly images: readonly Buffer[];
  /** What came after what; streams that follow each other are one. */
  readonly sequence: readonly string[];
}

export interface ComparisonOptions {
  /** Where the cells of the other side ran, if not in /workspace. */
  readonly workspace?: string | undefined;
  readonly pixels?: boolean | undefined;
}

/** Nothing where the cell came out alike. */
export function compareCells(
  cellar: CellRecord,
  jupyter: CellRecord,
  { workspace, pixels = true }: ComparisonOptions = {},
): Difference[] {
  const ours = factsOf(cellar);
  const theirs = factsOf(jupyter, workspace);
  const found: Difference[] = [];
  const differ = (what: DifferenceClass, one: unknown, other: unknown) => {
    if (found.some((known) => known.what === what)) return;
    found.push({ what, cellar: textOf(one), jupyter: textOf(other) });
  };
  const compareLists = (
    what: DifferenceClass,
    one: readonly string[],
    other: readonly string[],
  ) => {
    if (same(one, other)) return;
    differ(same([...one].sort(), [...other].sort()) ? "order" : what, one, other);
  };
  if (ours.state !== theirs.state) differ("state", ours.state, theirs.state);
  compareLists("error class", ours.errors, theirs.errors);
  if (same(ours.errors, theirs.errors)) compareLists("error text", ours.messages, theirs.messages);
  for (const name of ["stdout", "stderr"] as const) {
    const [one, other] = [ours.streams.get(name) ?? "", theirs.streams.get(name) ?? ""];
    if (one !== other) differ(name, one, other);
  }
  compareLists("text", ours.texts, theirs.texts);
  compareLists("html", ours.html, theirs.html);
  compareLists("rich", ours.rich, theirs.rich);
  compareLists("mime", ours.mimes, theirs.mimes);
  if (ours.images.length !== theirs.images.length) {
    differ("images", ours.images.length, theirs.images.length);
  } else if (pixels) {
    ours.images.forEach((image, index) => {
      const other = theirs.images[index];
      const verdict = other === undefined ? "equal" : compareImages(image, other);
      if (verdict !== "equal") differ("pixels", `image ${index + 1}: ${verdict}`, "");
    });
  }
  const [kinds, otherKinds] = [withoutStreams(ours), withoutStreams(theirs)];
  if (!same([...kinds].sort(), [...otherKinds].sort())) differ("outputs", kinds, otherKinds);
  else if (found.length === 0) compareLists("order", ours.sequence, theirs.sequence);
  return found.sort((a, b) => CLASSES.indexOf(a.what) - CLASSES.indexOf(b.what));
}

function factsOf({ state, outputs }: CellRecord, workspace?: string): Facts {
  const told = (text: string) => normalise(text, workspace);
  const shown = outputs.filter(
    (output): output is Shown =>
      output.output_type === "display_data" || output.output_type === "execute_result",
  );
  const errors = outputs.filter((output) => output.output_type === "error");
  const streams = new Map<string, string>();
  for (const output of outputs) {
    if (output.output_type !== "stream") continue;
    streams.set(output.name, (streams.get(output.name) ?? "") + output.text);
  }
  const bundles = shown.map(({ data }) =>
    Object.entries(data).filter(([mime]) => !OWN_MIMES.includes(mime)),
  );
  const valuesOf = (wanted: (mime: string) => boolean) =>
    bundles.flatMap((bundle) =>
      bundle
        .filter(([mime]) => wanted(mime))
        .map(([mime, value]) => [mime, wordsOf(value)] as const),
    );
  const contentsOf = (wanted: (mime: string) => boolean) =>
    valuesOf(wanted).map(([, value]) => told(value));
  return {
    state: state === "ok" && errors.length > 0 ? "error" : state,
    errors: errors.map(({ ename }) => ename),
    messages: errors.map(({ evalue }) => told(evalue)),
    streams: new Map([...streams].map(([name, text]) => [name, told(text)])),
    texts: contentsOf((mime) => TEXTS[mime] === "text"),
    html: contentsOf((mime) => TEXTS[mime] === "html"),
    rich: contentsOf((mime) => TEXTS[mime] === undefined && !isImage(mime)),
    mimes: bundles.map((bundle) =>
      bundle
        .map(([mime]) => mime)
        .sort()
        .join(" "),
    ),
    images: valuesOf(isImage).map(([, value]) => Buffer.from(value, "base64")),
    sequence: sequenceOf(outputs),
  };
}

/** Bytes; an SVG is text. */
function isImage(mime: string): boolean {
  return mime.startsWith("image/") && mime !== "image/svg+xml";
}

function sequenceOf(outputs: readonly NotebookOutput[]): string[] {
  const kinds = outputs.map((output) => {
    if (output.output_type === "stream") return "text";
    if (output.output_type === "error") return "error";
    const image = Object.keys(output.data).some(isImage) ? " image" : "";
    return (output.output_type === "execute_result" ? "result" : "display") + image;
  });
  return kinds.filter((kind, index) => kind !== "text" || kinds[index - 1] !== "text");
}

function withoutStreams({ sequence }: Facts): string[] {
  return sequence.filter((kind) => kind !== "text");
}

function wordsOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((part) => typeof part === "string"))
    return value.join("");
  return JSON.stringify(sorted(value));
}

/** Objects without the order of their keys, which says nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.length === 1) return String(value[0]);
  return JSON.stringify(value);
}

function same(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((value, index) => value === other[index]);
}
