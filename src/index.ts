export type {
  Checkpoint,
  CodeExecution,
  ExecuteOptions,
  ExecutionError,
  ExecutionStatus,
  ISandbox,
  Isolation,
  LLMQuery,
  Mount,
  Output,
  QueryOptions,
  REPLConfig,
  RLMQuery,
  SandboxInfo,
  StateReport,
} from "./backends/backend.js";
export { DaemonClientSandbox } from "./backends/daemon/sandbox.js";
export { NativeRuntime } from "./backends/native/runtime.js";
export { NativePythonSandbox } from "./backends/native/sandbox.js";
export { DirectPyodideSandbox, PyodideSandbox } from "./backends/pyodide/sandbox.js";
export { createSandbox, shutdown } from "./backends/select.js";
export type { IsolationLevel, LimitSettings, Settings } from "./config.js";
export { CellarError, type ErrorCode, isCellarError } from "./errors.js";
export type { MimeBundle, Variable } from "./protocol/messages.js";
export { Opaque } from "./protocol/values.js";
