const LONGEST_GUESS = 60;

/** The most similar name, if one is similar enough; `strictly` allows only typing errors. */
export function nearestName(
  wrong: string,
  known: Iterable<string>,
  { strictly = false }: { readonly strictly?: boolean } = {},
): string | undefined {
  if (wrong.length > LONGEST_GUESS) return undefined;
  const written = plain(wrong);
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of known) {
    const last = plain(name.slice(name.lastIndexOf(".") + 1));
    const distance = Math.min(
      ...[plain(name), last, last.replace(/mb$/, "")].map((one) => distanceOf(written, one)),
    );
    const isNear = strictly
      ? distance <= (name.length < 8 ? 1 : 2) && wrong[0] === name[0]
      : distance <= allowedFor(written) || isPartOf(written, last);
    if (isNear && distance < (best?.distance ?? Number.POSITIVE_INFINITY))
      best = { name, distance };
  }
  return best?.name;
}

/** `; did you mean timeout?`, or nothing. */
export function suggestion(wrong: string, known: Iterable<string>): string {
  const name = nearestName(wrong, known);
  return name === undefined ? "" : `; did you mean ${name}?`;
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[_\s-]/g, "");
}

function allowedFor({ length }: string): number {
  return length < 4 ? 1 : length < 8 ? 2 : 3;
}

/** `memory` for `memoryMb`, `timeoutMs` for `timeout`. */
function isPartOf(one: string, other: string): boolean {
  return one.length >= 4 && other.length >= 4 && (one.startsWith(other) || other.startsWith(one));
}

/** How many letters differ, are missing, too many, or have changed places. */
function distanceOf(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row++) {
    const next = [row];
    for (let at = 1; at <= other.length; at++) {
      const isSame = one[row - 1] === other[at - 1];
      const isSwapped = one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      next[at] = Math.min(
        (last[at] ?? 0) + 1,
        (next[at - 1] ?? 0) + 1,
        (last[at - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped && row > 1 && at > 1 ? (beforeLast[at - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = next;
  }
  return last[other.length] ?? 0;
}
