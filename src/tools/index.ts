/// <reference lib="esnext.disposable" preserve="true" />
/// <reference types="node" preserve="true" />
export type { AiSdkOutput, AiSdkTool } from "./adapters/ai-sdk.js";
export {
  type AnthropicTool,
  type AnthropicToolResult,
  toAnthropicToolResult,
} from "./adapters/anthropic.js";
export { NotebookTools, openTools, type ToolsOptions } from "./adapters/notebook-tools.js";
export type { JsonSchema } from "./adapters/offered-tools.js";
export {
  type AnsweredCall,
  type OpenAIMessage,
  type OpenAIOutput,
  type OpenAIResponsesTool,
  type OpenAITool,
  toOpenAIMessages,
  toOpenAIOutput,
} from "./adapters/openai.js";
export type { ToolAnswer, ToolCall, ToolPart } from "./tool.js";
