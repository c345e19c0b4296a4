import { readFileSync, writeSync } from "node:fs";
import { join, posix } from "node:path";
import { pathToFileURL } from "node:url";
import type { loadPyodide, PyodideAPI } from "pyodide";
import { compileAhead, shareModules } from "./engine.js";
import { closeImports, reopened } from "./import-guard.js";
import { pack, recall, type Store } from "./memory.js";
import { pythonFilesIn } from "./python-files.js";
import { type LargeScript, readScript } from "./script.js";

/** The runner's folder in Python's file system. */
const RUNNER_FOLDER = "/opt/cellar";
const HOME = "/workspace";
const ERROR_DESCRIPTOR = 2;

/** What may travel from Python's descriptors 1 and 2 in one piece. */
const RAW_BYTES_BEFORE_REMINDER = 256 * 1024;

export interface InterpreterPlan {
  /** The folder of pyodide.mjs and its parts. */
  readonly distribution: string;
  /** The folder of the runner's Python files. */
  readonly runner: string;
  /** A folder of wheels with their pyodide-lock.json; null for the core alone. */
  readonly wheels: string | null;
  readonly packages: readonly string[];
  /** How far Python's memory may grow. */
  readonly maxBytes: number;
}

/** What the runner needs of JavaScript. */
export interface Port {
  read(): Uint8Array | undefined;
  write(data: Uint8Array): void;
  /** Waits for a signal; returns its number, or 0. */
  wait(milliseconds: number): number;
  wantedStep(): number;
  see(): void;
  setPartialLine(isThere: boolean): void;
  /** Raw output waits to be taken. */
  remind(): void;
}

interface RawOutput {
  readonly which: 0 | 1;
  readonly data: Uint8Array;
}

/** Bytes of Python, seen from JavaScript. */
interface Bytes {
  getBuffer(type: "u8"): { readonly data: Uint8Array; release(): void };
}

type WholePort<P extends Port> = Omit<P, "write"> & {
  write(data: Bytes): void;
  takeRaw(): RawOutput | undefined;
};

export interface RunnerSession {
  greet(frame: Uint8Array): void;
  take(frame: Uint8Array): void;
}

/** A session that leaves what it cannot finish: it gives the seconds until it is to be resumed. */
export interface SteppedSession {
  greet(frame: Uint8Array): void;
  take(frame: Uint8Array): number | undefined;
  resume(): number | undefined;
}

/** A port of a session that nothing can interrupt from outside. */
export interface SteppedPort extends Port {
  /** Whether the time of what runs now is over. */
  isOverdue(): boolean;
}

/** Where Python looks for a signal between its instructions. */
export type SignalPlace = Int32Array | { 0: number };

/** An interpreter with the runner in it. */
export class PyodideInterpreter {
  readonly python: PyodideAPI;
  readonly #script: LargeScript | undefined;

  private constructor(python: PyodideAPI, script: LargeScript | undefined) {
    this.python = python;
    this.#script = script;
  }

  static async open(
    plan: InterpreterPlan,
    memory: { stored?: Store | undefined; isModel?: boolean } = {},
    look?: () => void,
  ): Promise<PyodideInterpreter> {
    // One load at a time in a thread, because the import guard is global to it.
    for (let busy = reopened(); busy !== undefined; busy = reopened()) await busy;
    const compiled = compileAhead(join(plan.distribution, "pyodide.asm.wasm"));
    const reopen = closeImports(plan.maxBytes, compiled, look);
    const unshare = shareModules();
    const emptied = provideRequire();
    try {
      const { loadPyodide: load } = await importPyodide(plan.distribution);
      const remembered = memory.stored && recall(memory.stored, () => compiled.heap());
      const script = readScript(plan.distribution, remembered?.code);
      const python = await load({
        indexURL: `${plan.distribution}/`,
        jsglobals: Object.create(null) as object,
        env: { HOME, TMPDIR: "/tmp", MPLBACKEND: "Agg" },
        args: ["-X", "utf8"],
        enableRunUntilComplete: false,
        // Until others are set; by default it would open those of Node.
        stdin: () => null,
        stdout: () => {},
        stderr: (line) => writeSync(ERROR_DESCRIPTOR, `${line}\n`),
        _sysExecutable: `${HOME}/python`,
        ...lockOf(plan),
        ...(script !== undefined && { createPyodideModule: script.create }),
        ...(remembered !== undefined && { _loadSnapshot: remembered.memory }),
        ...(memory.isModel === true && { _makeSnapshot: true }),
      });
      throwFatalErrors(python);
      const interpreter = new PyodideInterpreter(python, script);
      if (remembered === undefined) {
        interpreter.writeRunner(plan.runner);
        interpreter.#importRunner();
      }
      if (memory.isModel === true) interpreter.#runner<{ warm_up(): void }>("warmup").warm_up();
      return interpreter;
    } finally {
      emptied();
      unshare();
      reopen();
    }
  }

  /** A memory snapshot from which others can start. */
  packMemory(): Uint8Array {
    const code = this.#script?.code() ?? new Uint8Array(0);
    return pack({ code, memory: this.python.makeMemorySnapshot() });
  }

  /** Lets the runner serve a host behind the port. */
  serve(port: Port, signals: SignalPlace): RunnerSession {
    const { open_session } = this.#runner<{
      open_session(port: WholePort<Port>): RunnerSession;
    }>("session");
    return this.#connect(port, signals, open_session);
  }

  /** As `serve`, for a thread that must not wait. */
  serveInSteps(port: SteppedPort, signals: SignalPlace): SteppedSession {
    const { open_direct_session } = this.#runner<{
      open_direct_session(port: WholePort<SteppedPort>): SteppedSession;
    }>("direct");
    return this.#connect(port, signals, open_direct_session);
  }

  #runner<M>(name: string): M {
    return this.python.pyimport(`cellar_runner.pyodide.${name}`) as M;
  }

  #connect<P extends Port, S>(port: P, signals: SignalPlace, open: (port: WholePort<P>) => S): S {
    const raw: RawOutput[] = [];
    let waiting = 0;
    const keep = (which: 0 | 1) => (data: Uint8Array) => {
      raw.push({ which, data: data.slice() });
      waiting += data.length;
      if (waiting >= RAW_BYTES_BEFORE_REMINDER) port.remind();
      else port.setPartialLine(true);
      return data.length;
    };
    this.python.setStdout({ write: keep(0) });
    this.python.setStderr({ write: keep(1) });
    this.python.setStdin({ stdin: () => null });
    const takeRaw = () => {
      const piece = raw.shift();
      waiting -= piece?.data.length ?? 0;
      return piece;
    };
    const write = (data: Bytes) => {
      const view = data.getBuffer("u8");
      try {
        port.write(view.data);
      } finally {
        view.release();
      }
    };
    const session = open({ ...port, write, takeRaw });
    closeFileSystem(this.python);
    this.python.setInterruptBuffer(signals as unknown as Int32Array);
    return session;
  }

  /** Shows Python the runner's files, for what it imports late; remembered memory has no files. */
  writeRunner(runner: string): void {
    const { FS } = this.python;
    const folder = `${RUNNER_FOLDER}/cellar_runner`;
    FS.mkdirTree(folder);
    for (const path of pythonFilesIn(runner)) {
      FS.mkdirTree(posix.dirname(`${folder}/${path}`));
      FS.writeFile(`${folder}/${path}`, readFileSync(join(runner, path)));
    }
  }

  /** Loads packages; not before memory is remembered, for their files are no part of it. */
  async install(packages: readonly string[]): Promise<void> {
    if (packages.length === 0) return;
    const failures: string[] = [];
    await this.python.loadPackage([...packages], {
      messageCallback: () => {},
      errorCallback: (message) => failures.push(message),
    });
    if (failures.length > 0) throw new Error(failures.join("; "));
  }

  #importRunner(): void {
    this.python.runPython(
      [
        "import sys",
        `sys.path.insert(0, "${RUNNER_FOLDER}")`,
        "from cellar_runner.pyodide import direct, session",
        `sys.path.remove("${RUNNER_FOLDER}")`,
        "del direct, session, sys",
      ].join("\n"),
    );
  }
}

/** Without packages of its own a session needs no list of them, which takes time to read. */
function lockOf({ distribution, wheels }: InterpreterPlan): Parameters<typeof loadPyodide>[0] {
  const lock = readFileSync(join(wheels ?? distribution, "pyodide-lock.json"), "utf8");
  if (wheels !== null) {
    return { lockFileContents: lock, packageBaseUrl: `${wheels}/`, packageCacheDir: `${wheels}/` };
  }
  const { info } = JSON.parse(lock) as { info: object };
  return { lockFileContents: JSON.stringify({ info, packages: {} }) };
}

async function importPyodide(folder: string): Promise<{ loadPyodide: typeof loadPyodide }> {
  return import(pathToFileURL(join(folder, "pyodide.mjs")).href);
}

/** Where there is a `require`, Pyodide does not load modules for sockets and programs. */
function provideRequire(): () => void {
  const scope = globalThis as { require?: unknown };
  if (scope.require !== undefined) return () => {};
  scope.require = () => undefined;
  return () => {
    delete scope.require;
  };
}

/** The caller reports the error; Pyodide would print a page of text. */
function throwFatalErrors(python: PyodideAPI): void {
  const { _api } = python as unknown as { _api: { fatal_error: (error: unknown) => void } };
  _api.fatal_error = (error) => {
    throw error;
  };
}

/** Emscripten's way to mount folders of the host. */
function closeFileSystem({ FS }: PyodideAPI): void {
  const { filesystems } = FS as unknown as { filesystems: Record<string, { mount?: unknown }> };
  for (const name of ["NODEFS", "NODERAWFS", "WORKERFS", "NATIVEFS_ASYNC"]) {
    const kind = filesystems[name];
    if (kind === undefined) continue;
    kind.mount = () => {
      throw new Error("folders of the host cannot be mounted");
    };
  }
}
