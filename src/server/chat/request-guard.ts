import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { callerVariable } from "../../config/environment.js";
import { CellarError } from "../../errors.js";
import type { ModelKey } from "../../http/endpoint.js";
import { HttpError } from "./http-error.js";

const SHORTEST_KEY = 16;
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/i;

/** Whom the server listens to. */
export class RequestGuard {
  readonly #digest: Buffer | undefined;

  constructor(host: string, key: ModelKey | undefined) {
    const read = key === undefined ? undefined : readKey(key);
    if (read === undefined && !LOOPBACK.test(host)) {
      throw new CellarError(
        "INVALID_CONFIG",
        `other machines can reach ${host}, so a key is required`,
        {
          remedy: "Set key, or listen at 127.0.0.1.",
        },
      );
    }
    this.#digest = read === undefined ? undefined : digestOf(read);
  }

  get hasKey(): boolean {
    return this.#digest !== undefined;
  }

  /** Refuses what a web page may have sent: neither CORS nor another name for this host is for it. */
  checkOrigin({ headers }: IncomingMessage): void {
    if (headers.origin !== undefined) {
      throw new HttpError(403, "requests from web pages are refused", {
        code: "origin_refused",
      });
    }
    // A page that knows the key needs no trick with names.
    if (this.hasKey || LOOPBACK.test(nameIn(headers.host ?? ""))) return;
    throw new HttpError(403, "without a key, the Host header must be a loopback name", {
      code: "host_refused",
    });
  }

  checkKey({ headers }: IncomingMessage): void {
    if (this.#digest === undefined) return;
    const [, given = ""] = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "") ?? [];
    // Digests have one length, and comparing them takes one time.
    if (timingSafeEqual(digestOf(given), this.#digest)) return;
    throw new HttpError(401, "the key is missing or wrong; send it as Authorization: Bearer", {
      code: "invalid_api_key",
      headers: { "www-authenticate": "Bearer" },
    });
  }
}

function readKey(key: ModelKey): string {
  const name = typeof key === "object" ? key.env : undefined;
  const value = typeof key === "object" ? callerVariable(key.env) : key;
  if (value !== undefined && value.length >= SHORTEST_KEY && /^[\x21-\x7e]+$/.test(value)) {
    return value;
  }
  const fault = value ? "is not a valid key" : "is not set";
  throw new CellarError("INVALID_CONFIG", `${name ?? "the key of the server"} ${fault}`, {
    remedy: `Use at least ${SHORTEST_KEY} letters and digits, such as the output of openssl rand -hex 24.`,
  });
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** "[::1]:8787" is "::1". */
function nameIn(host: string): string {
  const [, bracketed, plain = ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(host) ?? [];
  return bracketed ?? plain;
}
