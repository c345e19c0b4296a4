/** Adds two records of numbers field by field; a `sign` of -1 subtracts the other. */
export function addFields<T extends Readonly<Record<string, number>>>(
  one: T,
  other: T,
  sign: 1 | -1 = 1,
): T {
  const sums = Object.entries(one).map(([name, value]): [string, number] => [
    name,
    value + sign * (other[name] ?? 0),
  ]);
  return Object.fromEntries(sums) as T;
}
