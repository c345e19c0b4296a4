/** A promise that is settled from outside. Its failure may go unheard. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

export function deferred<T = void>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<T>((...settle) => {
    [resolve, reject] = settle;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}
