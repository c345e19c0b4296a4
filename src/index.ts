/// <reference lib="esnext.disposable" preserve="true" />
/// <reference types="node" preserve="true" />

export { AgentRepl } from "./agent/agent-repl.js";
export type {
  Checkpoint,
  CodeExecution,
  Completeness,
  Completion,
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
export { createSandbox } from "./backends/create-sandbox.js";
export { DaemonClientSandbox } from "./backends/daemon/sandbox.js";
export type { FileContent } from "./backends/files/file-content.js";
export type { FileOptions } from "./backends/files/sandbox-files.js";
export type { FileListing, ReadOptions, WorkspaceFile } from "./backends/files/workspace-file.js";
export {
  type HostTool,
  type HostToolOptions,
  type HostTools,
  hostTool,
  type ToolProvider,
} from "./backends/host-tools/host-tool.js";
export { NativeRuntime } from "./backends/native/runtime.js";
export { NativePythonSandbox } from "./backends/native/sandbox.js";
export { DirectPyodideSandbox, PyodideSandbox } from "./backends/pyodide/sandbox.js";
export { shutdown } from "./backends/shared.js";
export type { IsolationLevel, LimitSettings } from "./config.js";
export { CellarError, type ErrorCode, isCellarError } from "./errors.js";
export { Notebook } from "./notebook/notebook.js";
export { type RunOnceOptions, type RunOnceResult, runOnce } from "./notebook/run-once.js";
export type { MimeBundle, Variable } from "./protocol/messages.js";
export { UnconvertedValue } from "./protocol/values.js";
export { anthropicMessages } from "./rlm/models/anthropic.js";
export { openAIChat } from "./rlm/models/openai-chat.js";
export { rlm } from "./rlm/rlm.js";
