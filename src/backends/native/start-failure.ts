import { readFileSync } from "node:fs";
import { CellarError, describeError, isCellarError } from "../../errors.js";
import { diagnose, remedyFor } from "../../isolation/remedies.js";
import { machine } from "./machine.js";

/** How a process ends that somebody has ended: by a signal, or by a wall that passes it on. */
const KILLED = /^(SIG(KILL|TERM|HUP|INT|QUIT)|exit (129|130|131|137|143))$/;
const SAID_KILLED = /was ended by signal (1|2|3|9|15)\b/;

export function unavailable(message: string, cause?: Parameters<typeof remedyFor>[0]): CellarError {
  const remedy = cause === undefined ? undefined : remedyFor(cause, osRelease());
  return new CellarError("SANDBOX_UNAVAILABLE", `The sandbox cannot be made: ${message}`, {
    remedy,
    details: { cause: cause ?? "unknown", option: "minIsolation" },
  });
}

export function fallen(error: unknown): CellarError {
  if (isCellarError(error, "IO_ERROR") || isCellarError(error, "INVALID_CONFIG")) return error;
  const said = describeError(error);
  const cause = diagnose(said, machine());
  return cause === undefined && wasKilled(error) ? killed(said) : unavailable(said, cause);
}

/** That tells nothing about what this machine can do. */
function wasKilled(error: unknown): boolean {
  if (!isCellarError(error)) return false;
  const { how = "", said = "" } = error.details;
  return KILLED.test(String(how)) || SAID_KILLED.test(String(said));
}

function killed(said: string): CellarError {
  const message = `The sandbox was ended from outside while it started: ${said}`;
  return new CellarError("START_FAILED", message, {
    remedy: "Try again. If it happens again, see who ends it: mostly the machine is out of memory.",
  });
}

function osRelease(): string {
  try {
    return readFileSync("/etc/os-release", "utf8");
  } catch {
    return "";
  }
}
