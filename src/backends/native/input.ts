import { CellarError } from "../../errors.js";
import { MAX_SOURCE_BYTES } from "../../protocol/messages.js";

export function checkSource(code: string): void {
  if (typeof code !== "string") {
    throw new CellarError("INVALID_INPUT", `the code must be a string, not ${typeof code}`);
  }
  const bytes = Buffer.byteLength(code);
  if (bytes > MAX_SOURCE_BYTES) {
    throw new CellarError(
      "TOO_LARGE",
      `the code has ${bytes} bytes; ${MAX_SOURCE_BYTES} are allowed`,
      { remedy: "Pass data with setVariable, initialize or a mounted file, not as source." },
    );
  }
}

export function checkLimit(name: string, value: number | undefined, least: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= least)) return;
  throw new CellarError("INVALID_INPUT", `${name} must be a whole number from ${least} on`);
}

export function checkVariableName(name: string): void {
  if (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name)) return;
  throw new CellarError("INVALID_INPUT", `${JSON.stringify(name)} is not a Python variable name`);
}
