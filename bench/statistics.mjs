/** The value below which that share of the samples lies (nearest rank). */
export function percentile(samples, share) {
  const ordered = [...samples].sort((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(share * ordered.length));
  return ordered[rank - 1];
}

export function median(samples) {
  const ordered = [...samples].sort((a, b) => a - b);
  const middle = ordered.length >> 1;
  return ordered.length % 2 === 1 ? ordered[middle] : (ordered[middle - 1] + ordered[middle]) / 2;
}

/** With fewer samples the 99th percentile would be their largest under another name. */
const ENOUGH_FOR_P99 = 100;

/** What a row tells about its samples. */
export function summarise(samples) {
  return {
    median: round(median(samples)),
    p95: round(percentile(samples, 0.95)),
    p99: samples.length < ENOUGH_FOR_P99 ? null : round(percentile(samples, 0.99)),
    min: round(Math.min(...samples)),
    max: round(Math.max(...samples)),
    n: samples.length,
  };
}

/** Three decimals: microseconds, finer than these clocks are accurate. */
export function round(value) {
  return Math.round(value * 1000) / 1000;
}

/** In random order, so that drift of the machine does not favour one. */
export function shuffled(items) {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last -= 1) {
    const other = Math.floor(Math.random() * (last + 1));
    [result[last], result[other]] = [result[other], result[last]];
  }
  return result;
}
