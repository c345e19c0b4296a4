import { PythonSandbox } from "../session/sandbox.js";

/** Cells in a CPython of this machine, behind walls where they can be had. */
export class NativePythonSandbox extends PythonSandbox {}
