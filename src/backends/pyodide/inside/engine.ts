import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";

export type ImportedFunction = ((...values: number[]) => number | boolean) & { sig?: string };
export type Imports = Record<string, Record<string, ImportedFunction>>;

interface Instance {
  readonly exports: { readonly memory?: { readonly buffer: ArrayBuffer } };
}

export type Instantiate = (source: unknown, imports?: Imports) => Promise<unknown>;

interface Engine {
  instantiate: Instantiate;
  compile(source: Uint8Array): Promise<object>;
  Module: new (source: Uint8Array) => object;
}

/** Modules that only pass a call on are shorter. */
const SMALL_BYTES = 128;

export function theEngine(): Engine {
  return (globalThis as unknown as { WebAssembly: Engine }).WebAssembly;
}

/** A module that is compiled before it is asked for. */
export class Compiled {
  /** By its length it is known when it is asked for. */
  readonly bytes: number;
  readonly #module: Promise<object>;
  #instance: Instance | undefined;

  constructor(bytes: number, module: Promise<object>) {
    this.bytes = bytes;
    this.#module = module;
    module.catch(() => {});
  }

  async instantiate(make: (module: object) => Promise<unknown>): Promise<object> {
    const module = await this.#module;
    const instance = (await make(module)) as Instance;
    this.#instance = instance;
    return { module, instance };
  }

  /** The memory of the instance, at its present size. */
  heap(): Uint8Array {
    const memory = this.#instance?.exports.memory;
    if (memory === undefined) throw new Error("Pyodide has no memory yet");
    return new Uint8Array(memory.buffer);
  }
}

/** Begins to compile, in threads of the engine's own. */
export function compileAhead(path: string): Compiled {
  const module = readFile(path).then((source) => theEngine().compile(source));
  return new Compiled(statSync(path).size, module);
}

/**
 * Emscripten makes a small module for each function of JavaScript that Python may call, and those of
 * one signature are alike: from now on they are compiled once. Gives a function that takes this back.
 */
export function shareModules(): () => void {
  const engine = theEngine();
  const { Module } = engine;
  const known = new Map<string, object>();
  engine.Module = new Proxy(Module, {
    construct(target, given: [Uint8Array], newTarget) {
      const [source] = given;
      const isPlain = given.length === 1 && source instanceof Uint8Array;
      if (!isPlain || source.length > SMALL_BYTES || newTarget !== engine.Module) {
        return Reflect.construct(target, given, newTarget);
      }
      const key = source.join();
      const module = known.get(key) ?? new target(source);
      known.set(key, module);
      return module;
    },
  });
  return () => {
    engine.Module = Module;
  };
}
