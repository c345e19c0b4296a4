import { CellarError } from "../errors.js";

/** An address without the parts that may be secret, short enough for a message. */
export function shownAddress({ origin, pathname, search }: URL): string {
  return `${origin}${pathname.slice(0, 200)}${search === "" ? "" : "?…"}`;
}

/** The policy does not let this be reached. */
export function refused(reason: string, remedy: string): CellarError {
  return new CellarError("INVALID_INPUT", reason, { remedy, details: { isRefused: true } });
}

export function unreachable(name: string, why: string, cause?: unknown): CellarError {
  return new CellarError("IO_ERROR", `${name} could not be fetched: ${why}`, {
    remedy: "Try again later, or use another address.",
    cause,
  });
}

export function unreadable(name: string, why: string, cause?: unknown): CellarError {
  return new CellarError("PROTOCOL_ERROR", `the answer of ${name} cannot be read: ${why}`, {
    remedy: "Use another address: this server does not answer as the web does.",
    cause,
  });
}

export function tooLarge(name: string, bytes: number): CellarError {
  return new CellarError(
    "TOO_LARGE",
    `${name} is larger than ${bytes.toLocaleString("en-US")} bytes`,
    {
      remedy: "Ask for a smaller part of it, or have the limit maxBytes of web pages raised.",
      details: { maxBytes: bytes },
    },
  );
}

export function tookTooLong(name: string, milliseconds: number): CellarError {
  return new CellarError("LIMIT_REACHED", `${name} took longer than ${milliseconds} ms`, {
    remedy: "Try again later, or have the limit timeoutMs of web pages raised.",
    details: { timeoutMs: milliseconds },
  });
}

export function cancelled(name: string, cause: unknown): CellarError {
  return new CellarError("ABORTED", `fetching ${name} was cancelled`, { cause });
}

export function badStatus(name: string, status: number): CellarError {
  const details = { status };
  const message = `${name}: the server answered ${status}`;
  if (status >= 500 || status === 429 || status === 408) {
    return new CellarError("REMOTE_ERROR", message, { remedy: "Try again later.", details });
  }
  if (status === 404 || status === 410) {
    return new CellarError("NOT_FOUND", message, { remedy: "Check the address.", details });
  }
  const remedy =
    status === 401 || status === 403
      ? "It wants a login or refuses programs: use another source."
      : "Check the address.";
  return new CellarError("INVALID_INPUT", message, { remedy, details });
}
