import { type Compiled, type ImportedFunction, type Instantiate, theEngine } from "./engine.js";

/** Functions of Emscripten through which C code, and so `ctypes`, reaches JavaScript or the host. */
const REFUSING: Readonly<Record<string, () => number>> = {
  _emscripten_system: () => -1,
  emscripten_run_script: () => 0,
  emscripten_run_script_int: () => 0,
  emscripten_run_script_string: () => 0,
  emscripten_async_run_script: () => 0,
};

const PAGE_BYTES = 65_536;

type Closed = Instantiate & { reopened?: Promise<void> };

/**
 * Makes WebAssembly modules that are instantiated from now on unable to run JavaScript or programs
 * by name, and their memory unable to grow beyond a limit. `look` is called whenever Python looks for
 * signals, and ends it by throwing. Gives a function that takes this back.
 */
export function closeImports(maxBytes: number, compiled: Compiled, look?: () => void): () => void {
  const engine = theEngine();
  const instantiate = engine.instantiate;
  let release = () => {};
  const closed: Closed = async (source, imports) => {
    if (imports?.env?._emscripten_system !== undefined) {
      closeEnvironment(imports.env, maxBytes);
      if (look !== undefined) watchSignals(imports.env, look);
    }
    if ((source as { byteLength?: number }).byteLength !== compiled.bytes) {
      return instantiate.call(engine, source, imports);
    }
    return compiled.instantiate((module) => instantiate.call(engine, module, imports));
  };
  closed.reopened = new Promise((resolve) => {
    release = resolve;
  });
  engine.instantiate = closed;
  return () => {
    engine.instantiate = instantiate;
    release();
  };
}

/** When the imports are as usual again; undefined where they are. */
export function reopened(): Promise<void> | undefined {
  return (theEngine().instantiate as Closed).reopened;
}

function closeEnvironment(environment: Record<string, ImportedFunction>, maxBytes: number): void {
  for (const [name, refuse] of Object.entries(REFUSING)) {
    const open = environment[name];
    if (open !== undefined) environment[name] = inPlaceOf(open, refuse);
  }
  const grow = environment.emscripten_resize_heap;
  if (grow === undefined) return;
  const most = Math.floor(maxBytes / PAGE_BYTES) * PAGE_BYTES;
  environment.emscripten_resize_heap = inPlaceOf(grow, (size) =>
    Number(size) >>> 0 > most ? 0 : Number(grow(Number(size))),
  );
}

/** What is thrown here passes through Python, where nothing could catch it. */
function watchSignals(environment: Record<string, ImportedFunction>, look: () => void): void {
  const name = "_Py_CheckEmscriptenSignals_Helper";
  const check = environment[name];
  if (check === undefined) return;
  environment[name] = inPlaceOf(check, () => {
    look();
    return Number(check());
  });
}

/** The dynamic linker finds out by `sig` how a function is called. */
function inPlaceOf(
  open: ImportedFunction,
  closed: (...values: number[]) => number,
): ImportedFunction {
  const replacement: ImportedFunction = (...values) => closed(...values);
  if (open.sig !== undefined) replacement.sig = open.sig;
  return replacement;
}

/** What a thread that only runs Python has no need for. */
const NEEDLESS_GLOBALS = [
  "process",
  "require",
  "fetch",
  "WebSocket",
  "EventSource",
  "BroadcastChannel",
  "navigator",
  "Buffer",
];

/** Takes from a thread of one's own what leads out of it. */
export function closeGlobals(): void {
  for (const name of NEEDLESS_GLOBALS) Reflect.deleteProperty(globalThis, name);
  // Emscripten leaves an exit code here, and nothing else.
  Object.assign(globalThis, { process: {} });
}
