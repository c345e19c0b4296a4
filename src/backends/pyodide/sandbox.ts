import { PythonSandbox } from "../session/sandbox.js";

/** A sandbox whose Python is WebAssembly in a process of its own. */
export class PyodideSandbox extends PythonSandbox {}

/** A sandbox whose Python runs in the caller's own thread, which it holds up while a cell runs. */
export class DirectPyodideSandbox extends PythonSandbox {
  /** Does nothing: there is no other thread that could interrupt a cell. Its time limit ends it. */
  override async cancel(): Promise<void> {}
}
