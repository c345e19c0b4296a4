import { PythonSandbox } from "../session/sandbox.js";

/** Runs cells in a CPython of this machine, behind walls where the machine allows them. */
export class NativePythonSandbox extends PythonSandbox {}
