/** As everywhere in Cellar, a KB is 1024 bytes and a MB 1024 KB, whether written MB or MiB. */
const MEBIBYTE = 1024 * 1024;

const DURATIONS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
};

const SIZES: Readonly<Record<string, number>> = {
  b: 1 / MEBIBYTE,
  k: 1 / 1024,
  m: 1,
  g: 1024,
  t: MEBIBYTE,
};

export const DURATION_EXAMPLES = "500ms, 5s, 2m or 1h";
export const SIZE_EXAMPLES = "512KB, 64MB or 2GB";

/** What a person wrote, with or without a unit. */
export interface Quantity {
  readonly value: number;
  /** Without a unit: the reader's own was taken. */
  readonly isBare: boolean;
}

/** Milliseconds; undefined if it is not a duration. */
export function readDuration(text: string, bare: "ms" | "s"): Quantity | undefined {
  return readQuantity(text, (unit) => DURATIONS[unit === "" ? bare : unit]);
}

/** MB, rounded up; undefined if it is not a size. */
export function readMegabytes(text: string): Quantity | undefined {
  const unitOf = (unit: string) => SIZES[unit === "" ? "m" : unit.replace(/(?<=[kmgt])i?b$/, "")];
  const size = readQuantity(text, unitOf);
  return size && { ...size, value: Math.ceil(size.value) };
}

function readQuantity(
  text: string,
  factorOf: (unit: string) => number | undefined,
): Quantity | undefined {
  const [, digits, unit = ""] = /^\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*$/i.exec(text) ?? [];
  const factor = factorOf(unit.toLowerCase());
  if (digits === undefined || factor === undefined) return undefined;
  // Fractions of a binary number are off in the last digits: 0.1s is 100 ms, not a little more.
  return { value: Number((Number(digits) * factor).toPrecision(12)), isBare: unit === "" };
}
