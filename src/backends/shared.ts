import type { DaemonRuntime } from "./daemon/runtime.js";
import type { NativeRuntime } from "./native/runtime.js";
import type { PyodideRuntime } from "./pyodide/runtime.js";

/** What is worth sharing by everything in a process, so there is one of each. */
const shared: {
  runtime?: NativeRuntime;
  pyodide?: PyodideRuntime;
  daemon?: DaemonRuntime;
  ending?: Promise<unknown>;
} = {};

/** The native runtime of this process, loaded on first use. */
export async function sharedRuntime(): Promise<NativeRuntime> {
  if (shared.runtime !== undefined) return shared.runtime;
  const { NativeRuntime } = await import("./native/runtime.js");
  shared.runtime ??= new NativeRuntime();
  return shared.runtime;
}

export async function sharedDaemon(): Promise<DaemonRuntime> {
  if (shared.daemon !== undefined) return shared.daemon;
  const { DaemonRuntime } = await import("./daemon/runtime.js");
  shared.daemon ??= new DaemonRuntime();
  return shared.daemon;
}

export async function sharedPyodide(): Promise<PyodideRuntime> {
  if (shared.pyodide !== undefined) return shared.pyodide;
  const { PyodideRuntime } = await import("./pyodide/runtime.js");
  shared.pyodide ??= new PyodideRuntime();
  return shared.pyodide;
}

/** Ends every zygote and session of this process; without it they end with the process. */
export async function shutdown(): Promise<void> {
  const { runtime, pyodide, daemon, ending } = shared;
  delete shared.runtime;
  delete shared.pyodide;
  delete shared.daemon;
  // A second call must not say that all is over while the first is still at work.
  shared.ending = Promise.all([
    ending?.catch(() => {}),
    runtime?.[Symbol.asyncDispose](),
    pyodide?.[Symbol.asyncDispose](),
    daemon?.[Symbol.asyncDispose](),
  ]);
  await shared.ending;
}
