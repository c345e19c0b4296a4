import { z } from "zod";
import { HttpFault } from "./http-fault.js";

const MAX_QUOTED = 300;
const MAX_REASON = 100;

const word = z.string().optional().catch(undefined);
const complaintSchema = z.union([
  z.string().transform((message) => ({ message, type: undefined, code: undefined })),
  z.object({
    message: word,
    type: word,
    code: z.union([z.string(), z.int()]).optional().catch(undefined),
  }),
]);
const refusedSchema = z.object({ error: complaintSchema });

/** Retrying does not help against these. */
const PERMANENT = new Set(["insufficient_quota", "billing_error"]);
const TRANSIENT = /overloaded|rate_limit|server_error|api_error|timeout|unavailable/;

export function httpError(
  status: number,
  body: string,
  { pauseMs, isPermanent = false }: { pauseMs?: number | undefined; isPermanent?: boolean } = {},
): HttpFault {
  const told = complaintOf(parsed(body));
  const reason = told?.code?.toString() ?? told?.type;
  const line = oneLine(told?.message ?? body);
  return new HttpFault(line === "" ? `HTTP ${status}` : `HTTP ${status}: ${line}`, {
    isTransient: !isPermanent && isTransientStatus(status) && !PERMANENT.has(reason ?? ""),
    status,
    reason: reason?.slice(0, MAX_REASON),
    pauseMs,
  });
}

/** An error inside an answer with status 200. */
export function errorIn(answer: unknown): HttpFault | undefined {
  const told = complaintOf(answer);
  if (told === undefined) return undefined;
  const { code, type, message } = told;
  const reason = code?.toString() ?? type;
  const isNumber = typeof code === "number";
  const isTransient = isNumber ? isTransientStatus(code) : TRANSIENT.test(`${code} ${type}`);
  return new HttpFault(`it broke off: ${oneLine(message ?? reason ?? "no reason given")}`, {
    isTransient,
    status: isNumber ? code : undefined,
    reason: reason?.slice(0, MAX_REASON),
  });
}

function complaintOf(answer: unknown): z.infer<typeof complaintSchema> | undefined {
  // A quick check first: this runs for every piece of a stream.
  if (typeof answer !== "object" || answer === null || !("error" in answer)) return undefined;
  return refusedSchema.safeParse(answer).data?.error;
}

function isTransientStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, MAX_QUOTED);
}
