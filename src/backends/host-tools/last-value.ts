/** Some AI SDK tools yield several values; the last one is the result. */
export async function lastOf(output: unknown, signal: AbortSignal): Promise<unknown> {
  if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) {
    return output;
  }
  let last: unknown;
  for await (const value of output as AsyncIterable<unknown>) {
    signal.throwIfAborted();
    last = value;
  }
  return last;
}
