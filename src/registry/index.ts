/// <reference lib="esnext.disposable" preserve="true" />
/// <reference types="node" preserve="true" />
export type { ApprovalAnswer, ApprovalRequest, Approver, Risk } from "./control/approvals.js";
export { Approvals } from "./control/approvals.js";
export type { ChainPlace, Invocation, InvocationLog } from "./control/invocation-log.js";
export type { ToolPolicy } from "./control/policy.js";
export type { Secret } from "./control/secrets.js";
export type { FunctionTool, FunctionTools } from "./function-source.js";
export type { RegistryOptions } from "./options.js";
export { type CallOptions, ToolRegistry } from "./registry.js";
export {
  type RegisteredTool,
  type ToolDeclaration,
  ToolError,
  type ToolOutput,
  type ToolRequest,
  type ToolSource,
} from "./tool.js";
