import type { ServerResponse } from "node:http";
import { describeError } from "../errors.js";
import type { AllowList } from "./allow-list.js";

/** Distinguishes a refusal of the proxy from an answer of the host. */
export const REFUSAL_HEADER = "X-Cellar-Refused";

const PHRASES = {
  400: "Bad Request",
  403: "Forbidden by the sandbox",
  502: "Bad Gateway",
  503: "Too many connections",
} as const;

export type DenialStatus = keyof typeof PHRASES;

export class Denial extends Error {
  override readonly name = "Denial";
  readonly status: DenialStatus;
  /** The status text, which clients show in their errors. */
  readonly phrase: string;

  constructor(status: DenialStatus, message: string, phrase: string = PHRASES[status]) {
    super(message);
    this.status = status;
    this.phrase = phrase;
  }
}

export function cutOff(reason: string): Denial {
  const message = `the network of this session was cut: ${reason}`;
  return new Denial(403, message, "Network cut by the sandbox");
}

/** Advice that a model can act on. */
export function adviceOf(allowed: AllowList, cutReason: string | undefined): string {
  if (cutReason !== undefined) return "Continue with local data: the network is cut for good.";
  return (
    `Only these hosts can be reached, through HTTP_PROXY and HTTPS_PROXY: ${allowed.entries.join(", ")}. ` +
    "Use one of them, or ask for the host to be allowed."
  );
}

export function answerDenial(response: ServerResponse, error: unknown, advice: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const reason = describeError(error);
  const { status, phrase } = error instanceof Denial ? error : new Denial(502, reason);
  const body = `${JSON.stringify({ error: reason, remedy: advice })}\n`;
  response.writeHead(status, phrase, {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
    [REFUSAL_HEADER]: asHeader(reason),
    Connection: "close",
  });
  response.end(body);
}

function asHeader(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, 500);
}
