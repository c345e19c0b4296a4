/// <reference lib="esnext.disposable" preserve="true" />
/// <reference types="node" preserve="true" />
export type { WebFetcherOptions } from "../web/web-fetcher.js";
export type { SearchProvider } from "../web/web-search.js";
export type {
  ApprovalAnswer,
  ApprovalRequest,
  Approvals,
  Approver,
  Risk,
} from "./control/approvals.js";
export type {
  ChainPlace,
  Invocation,
  InvocationListener,
  InvocationLog,
} from "./control/invocation-log.js";
export type { ToolPolicy } from "./control/policy.js";
export type { Secret } from "./control/secrets.js";
export type { FunctionTool, FunctionTools } from "./function-source.js";
export type { OpenApiCredentials } from "./openapi/credentials.js";
export type { OpenApiDocument } from "./openapi/document.js";
export type { OpenApiOptions } from "./openapi/source.js";
export type { RegistryOptions, WebOptions } from "./options.js";
export { type CallOptions, ToolRegistry } from "./registry.js";
export {
  type CallerType,
  type JsonSchema,
  type Permission,
  type RegisteredTool,
  type SessionWork,
  type ToolDeclaration,
  type ToolDisplay,
  type ToolEffects,
  ToolError,
  type ToolErrorCode,
  type ToolLimits,
  type ToolOutput,
  type ToolRequest,
  type ToolSource,
} from "./tool.js";
