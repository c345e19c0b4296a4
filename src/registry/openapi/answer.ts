import { plainValue, type Secrets } from "../source/plain-value.js";
import { ToolError, type ToolErrorCode, type ToolOutput } from "../tool.js";
import type { HttpAnswer } from "./exchange.js";
import { isJsonType } from "./operation.js";

const LONGEST_QUOTE = 500;
const MOST_HEADERS = 100;
const TEXT_TYPE =
  /^(?:text\/|application\/(?:xml|javascript|yaml|x-yaml|x-ndjson|ndjson|jsonl|sql|csv)|[\w-]+\/[\w.-]+\+(?:xml|yaml))/i;

/** What Python gets of an answer; throws for a status that is an error. */
export function outputOf(answer: HttpAnswer, method: string, secrets: Secrets): ToolOutput {
  if (answer.status >= 300) throw httpFailure(answer, secrets);
  if (method === "HEAD") {
    const headers = [...answer.headers].slice(0, MOST_HEADERS);
    return { value: plainValue(Object.fromEntries(headers), secrets) };
  }
  if (answer.bytes.length === 0) return { value: null };
  return { value: plainValue(valueIn(answer, secrets), secrets) };
}

function valueIn({ headers, bytes }: HttpAnswer, secrets: Secrets): unknown {
  const type = headers.get("content-type") ?? "";
  const text = decoded(bytes, type);
  if (isJsonType(type)) {
    try {
      return JSON.parse(text);
    } catch {
      throw new ToolError("BAD_RESULT", "the answer says that it is JSON, and is not");
    }
  }
  if (TEXT_TYPE.test(type) || type === "") return text;
  const shown = secrets.hide(type).slice(0, 100);
  throw new ToolError("BAD_RESULT", `the answer is ${shown}, which is neither JSON nor text`);
}

function decoded(bytes: Buffer, type: string): string {
  const [, charset = "utf-8"] = /;\s*charset="?([\w.:-]+)/i.exec(type) ?? [];
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return bytes.toString("utf8");
  }
}

function httpFailure({ status, statusText, headers, bytes }: HttpAnswer, secrets: Secrets) {
  const body = secrets.hide(decoded(bytes, headers.get("content-type") ?? "")).trim();
  const head = secrets.hide(`HTTP ${status} ${statusText}`).trim();
  const quote = body.slice(0, LONGEST_QUOTE);
  const wait = Number(headers.get("retry-after"));
  return new ToolError(codeOf(status), quote === "" ? head : `${head}: ${quote}`, {
    remedy: wait > 0 && Number.isFinite(wait) ? `Try again in ${wait} s.` : remedyFor(status),
  });
}

function codeOf(status: number): ToolErrorCode {
  if (status === 429) return "RATE_LIMITED";
  return status === 503 ? "UNAVAILABLE" : "FAILED";
}

function remedyFor(status: number): string | undefined {
  return status === 401 || status === 403 ? "The host's credentials are refused." : undefined;
}
