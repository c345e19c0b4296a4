/** Deeper values break what walks them by recursion, as JSON.stringify does. */
const DEEPEST = 200;

export function isShallow(value: unknown, most = DEEPEST): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= most; depth += 1) {
    const next: unknown[] = [];
    for (const each of level) {
      if (typeof each !== "object" || each === null) continue;
      for (const inner of Array.isArray(each) ? each : Object.values(each)) {
        if (typeof inner === "object" && inner !== null) next.push(inner);
      }
    }
    if (next.length === 0) return true;
    level = next;
  }
  return false;
}
