import { setMaxListeners } from "node:events";

/** Calls back once the signal aborts, immediately if it already has. Dispose it to stop listening. */
export function onAbort(
  signal: AbortSignal | undefined,
  callback: (reason: unknown) => void,
): Disposable {
  const listener = () => callback(signal?.reason);
  if (signal?.aborted === true) listener();
  else if (signal !== undefined) {
    // A batch waits on one signal many times, which Node would report as a leak.
    setMaxListeners(0, signal);
    signal.addEventListener("abort", listener, { once: true });
  }
  return { [Symbol.dispose]: () => signal?.removeEventListener("abort", listener) };
}

/** Waits for the work, but fails as soon as the signal aborts; the work itself is left alone. */
export function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  failure: (reason: unknown) => unknown = (reason) => reason,
): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const listening = onAbort(signal, (reason) => reject(failure(reason)));
    work.then(resolve, reject).finally(() => listening[Symbol.dispose]());
  });
}
