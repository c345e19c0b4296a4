import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { ToolError } from "../tool.js";

/** The longest message that is read or sent: an image or a file comes in one. */
export const LONGEST_MESSAGE = 32 * 1024 * 1024;

const SERVER_ERROR = -32_000;

/** An answer that the transport gives itself; the error in it is an object that no server can send. */
export function failedAnswer(id: number, error: ToolError): JSONRPCMessage {
  return {
    jsonrpc: "2.0",
    id,
    error: { code: SERVER_ERROR, message: error.message, data: error },
  };
}

export function tooLarge(): ToolError {
  return new ToolError("TOO_LARGE", `the answer has more than ${LONGEST_MESSAGE} bytes`, {
    remedy: "Ask for less, for example for a part or a page.",
  });
}
