/// <reference lib="esnext.disposable" preserve="true" />
/// <reference types="node" preserve="true" />

export {
  AgentRepl,
  type AgentReplOptions,
  type Turn,
  type TurnOptions,
} from "./agent/agent-repl.js";
export type { FinalAnswer } from "./agent/observation/answer.js";
export type { SummaryWorker } from "./agent/observation/summary.js";
export type { AgentRecord } from "./agent/record.js";
export type { RedactionOptions } from "./agent/redaction/redactor.js";
export { ResearchContext, type ResearchOptions } from "./agent/research/context.js";
export type { Embedder } from "./agent/research/embedder.js";
export type { ExplorationExport, ExplorationLog } from "./agent/research/exploration.js";
export { LexicalEmbedder } from "./agent/research/lexical-embedder.js";
export { OpenAIEmbedder, type OpenAIEmbedderOptions } from "./agent/research/openai-embedder.js";
export type {
  Checkpoint,
  CodeExecution,
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
export { DaemonClientSandbox } from "./backends/daemon/sandbox.js";
export type { FileContent } from "./backends/files/file-content.js";
export type { FileOptions } from "./backends/files/sandbox-files.js";
export type { FileListing, ReadOptions, WorkspaceFile } from "./backends/files/workspace-file.js";
export {
  type HostTool,
  type HostToolOptions,
  type HostTools,
  hostTool,
} from "./backends/host-tools/host-tool.js";
export { describeTools, type ToolDescription } from "./backends/host-tools/prepared-tools.js";
export { NativeRuntime } from "./backends/native/runtime.js";
export { NativePythonSandbox } from "./backends/native/sandbox.js";
export { DirectPyodideSandbox, PyodideSandbox } from "./backends/pyodide/sandbox.js";
export { createSandbox, shutdown } from "./backends/select.js";
export type { IsolationLevel, LimitSettings, Settings } from "./config.js";
export { CellarError, type ErrorCode, isCellarError } from "./errors.js";
export type { Cell, CellOutput, CellState, FileChanges, Resource } from "./notebook/cell.js";
export type { CellKey } from "./notebook/document/cell-finding.js";
export type { NotebookSummary } from "./notebook/document/list.js";
export { Notebook } from "./notebook/notebook.js";
export type { NotebookOptions } from "./notebook/options.js";
export type { CellRun, CellRunOptions } from "./notebook/run/cell-result.js";
export type { CellEvent } from "./notebook/run/events.js";
export { type RunOnceOptions, type RunOnceResult, runOnce } from "./notebook/run-once.js";
export type {
  NotebookCheckpoint,
  NotebookInfo,
  NotebookState,
} from "./notebook/state.js";
export type {
  BlobRef,
  BlobStore,
  HeadStore,
  NotebookId,
  NotebookStore,
  StoredHead,
} from "./notebook/store/store.js";
export type { AgentCall, Finding, MimeBundle, Variable } from "./protocol/messages.js";
export { Opaque } from "./protocol/values.js";
export type { Budget } from "./rlm/budget/budget.js";
export type { TokenUsage } from "./rlm/budget/usage.js";
export {
  type LoadContextOptions,
  type LoadedContext,
  loadContext,
} from "./rlm/context/load-context.js";
export type { DownloadProgress } from "./rlm/context/web.js";
export type {
  Model,
  ModelMessage,
  ModelReply,
  ModelRequest,
  ModelUsage,
  Price,
} from "./rlm/model.js";
export { type AnthropicOptions, anthropicMessages } from "./rlm/models/anthropic.js";
export {
  type FunctionModelOptions,
  functionModel,
  type ModelFunction,
} from "./rlm/models/function-model.js";
export { type OpenAIChatOptions, openAIChat } from "./rlm/models/openai-chat.js";
export { type ScriptedAnswer, type ScriptedModel, scripted } from "./rlm/models/scripted.js";
export type { AskOptions, RLMSessionOptions } from "./rlm/options.js";
export { type RLMOptions, rlm } from "./rlm/rlm.js";
export { type RLMResult, RLMSession } from "./rlm/session.js";
export type { RunEnding, TraceEvent } from "./rlm/trace/events.js";
export { renderTracePage } from "./rlm/trace/page/page.js";
export { readTrace, type TraceRecord } from "./rlm/trace/trace.js";
export type { ChatServerOptions } from "./server/chat/chat-options.js";
export { type ChatServer, createChatServer } from "./server/chat/chat-server.js";
