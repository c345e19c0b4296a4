/// <reference lib="esnext.disposable" preserve="true" />
/// <reference types="node" preserve="true" />

export { describeTools, type ToolDescription } from "../backends/host-tools/prepared-tools.js";
export type { ChainDivergence, ChainLog, ChainReport } from "../protocol/agent/chain-report.js";
export type { AgentCall, Finding } from "../protocol/messages.js";
export {
  AgentRepl,
  type AgentReplOptions,
  type AgentTurn,
  type TurnOptions,
} from "./agent-repl.js";
export type { Delegate, Router } from "./host-functions.js";
export type { FinalAnswer } from "./observation/answer.js";
export type { SummaryWorker } from "./observation/summary.js";
export type { AgentRecord } from "./record.js";
export type { RedactionOptions } from "./redaction/redactor.js";
export { ResearchContext, type ResearchOptions } from "./research/context.js";
export type { Embedder } from "./research/embedder.js";
export type { ExplorationExport, ExplorationLog } from "./research/exploration.js";
export { LexicalEmbedder } from "./research/lexical-embedder.js";
export { OpenAIEmbedder, type OpenAIEmbedderOptions } from "./research/openai-embedder.js";
