/**
 * Whether items fit a pattern in which some parts stand for any number of items. It returns to the last such
 * part only, so that no pattern takes longer than the product of both lengths. (Regular expressions made of
 * patterns can: the package `ignore` took nine minutes for three `**` and a path of a thousand folders.)
 */
export function matchesGlob<Part, Item>(
  pattern: readonly Part[],
  items: readonly Item[],
  isStar: (part: Part) => boolean,
  matchesOne: (part: Part, item: Item) => boolean,
): boolean {
  let [at, star, resume] = [0, -1, 0];
  for (let index = 0; index < items.length; ) {
    const part = pattern[at];
    if (part !== undefined && isStar(part)) {
      star = at;
      at += 1;
      resume = index;
    } else if (part !== undefined && matchesOne(part, items[index] as Item)) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      at = star + 1;
      resume += 1;
      index = resume;
    } else return false;
  }
  return pattern.slice(at).every(isStar);
}
