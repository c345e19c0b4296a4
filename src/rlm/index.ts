/// <reference lib="esnext.disposable" preserve="true" />
/// <reference types="node" preserve="true" />

export type { Budget } from "./budget/budget.js";
export type { TokenUsage } from "./budget/usage.js";
export {
  type LoadContextOptions,
  type LoadedContext,
  loadContext,
} from "./context/load-context.js";
export type { DownloadProgress } from "./context/web.js";
export type {
  Model,
  ModelMessage,
  ModelReply,
  ModelRequest,
  ModelUsage,
  Price,
} from "./model.js";
export { type AnthropicOptions, anthropicMessages } from "./models/anthropic.js";
export {
  type FunctionModelOptions,
  functionModel,
  type ModelFunction,
} from "./models/function-model.js";
export { type OpenAIChatOptions, openAIChat } from "./models/openai-chat.js";
export { type ScriptedAnswer, type ScriptedModel, scripted } from "./models/scripted.js";
export type { AskOptions, RLMSessionOptions } from "./options.js";
export { type RLMOptions, rlm } from "./rlm.js";
export { type RLMResult, RLMSession } from "./session.js";
export type { RunStatus, TraceEvent } from "./trace/events.js";
export { renderTracePage } from "./trace/page/page.js";
export { readTrace, type TraceRecord } from "./trace/trace.js";
