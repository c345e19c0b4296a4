import {
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from "@modelcontextprotocol/client";
import { describeError } from "../../errors.js";
import { reasonOf } from "../../http/endpoint.js";
import type { Secrets } from "../source/plain-value.js";
import { ToolError, type ToolErrorCode } from "../tool.js";

const LONGEST_REASON = 2_000;

/** What a message about a server is made of. */
export interface ServerWords {
  readonly server: string;
  /** How it ended and what it said last; empty if it is elsewhere. */
  readonly words: string;
  readonly secrets: Secrets;
}

export function startFailure(error: unknown, told: ServerWords): ToolError {
  const why = told.words === "" ? reasonOf(error) : told.words;
  const { code, remedy } = httpFault(error) ?? {
    code: "UNAVAILABLE" as const,
    remedy: "Run its command in a terminal, or open its url, to see what is wrong.",
  };
  return toolError(code, `the MCP server ${named(told)} did not start: ${why}`, told, remedy);
}

/** Why a request to a server has no answer. */
export function callFailure(
  error: unknown,
  signal: AbortSignal | undefined,
  told: ServerWords,
): ToolError {
  if (signal?.aborted === true) {
    return new ToolError("CANCELLED", `the call to the MCP server ${named(told)} was cancelled`);
  }
  const own = error instanceof ProtocolError ? error.data : error;
  if (own instanceof ToolError) {
    return toolError(own.code, `the MCP server ${named(told)}: ${own.message}`, told, own.remedy);
  }
  if (error instanceof ProtocolError) {
    const code = error.code === ProtocolErrorCode.InvalidParams ? "BAD_ARGUMENTS" : "FAILED";
    return toolError(code, error.message, told);
  }
  const fault = httpFault(error);
  if (fault !== undefined) {
    const what = `the MCP server ${named(told)} refused the call: ${describeError(error)}`;
    return toolError(fault.code, what, told, fault.remedy);
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) {
    return toolError(
      "BAD_RESULT",
      `the MCP server ${named(told)} gave a result of no known form`,
      told,
    );
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.ClientHttpUnexpectedContent) {
    return toolError("BAD_RESULT", `the MCP server ${named(told)}: ${error.message}`, told);
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
    return toolError("TIMEOUT", `the MCP server ${named(told)} did not answer in time`, told);
  }
  const end = told.words === "" ? reasonOf(error) : told.words;
  return toolError("UNAVAILABLE", `the MCP server ${named(told)} is gone: ${end}`, told);
}

function httpFault(
  error: unknown,
): { readonly code: ToolErrorCode; readonly remedy?: string } | undefined {
  if (!(error instanceof SdkHttpError)) return undefined;
  const { status = 0 } = error;
  if (status === 401 || status === 403) {
    return { code: "FAILED", remedy: "Put what it wants, such as Authorization, into headers." };
  }
  if (status === 429) return { code: "RATE_LIMITED" };
  return { code: "UNAVAILABLE" };
}

function toolError(code: ToolErrorCode, text: string, told: ServerWords, remedy?: string) {
  return new ToolError(code, told.secrets.hide(text).slice(0, LONGEST_REASON), { remedy });
}

function named({ server }: ServerWords): string {
  return JSON.stringify(server);
}
