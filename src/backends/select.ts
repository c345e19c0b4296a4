import type { ISandbox, REPLConfig } from "./backend.js";
import { NativeRuntime } from "./native/runtime.js";

/** Zygotes are worth sharing by everything in a process, so there is one runtime for it. */
const shared: { runtime?: NativeRuntime; ending?: Promise<unknown> } = {};

export function sharedRuntime(): NativeRuntime {
  shared.runtime ??= new NativeRuntime();
  return shared.runtime;
}

/** A sandbox from the process's own runtime. */
export function createSandbox(config: REPLConfig = {}): Promise<ISandbox> {
  return sharedRuntime().createSandbox(config);
}

/** Ends every zygote and session of this process; without it they end with the process. */
export async function shutdown(): Promise<void> {
  const { runtime, ending } = shared;
  delete shared.runtime;
  // A second call must not say that all is over while the first is still at work.
  shared.ending = Promise.all([ending?.catch(() => {}), runtime?.[Symbol.asyncDispose]()]);
  await shared.ending;
}
