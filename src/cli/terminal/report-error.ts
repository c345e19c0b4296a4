import { CellarError, describeError, isCellarError } from "../../errors.js";
import { EXIT, exitCodeFor } from "../exit-codes.js";
import { escapeControls, isTerminal, painterFor } from "./terminal.js";

export function reportFailure(error: unknown, json = false): number {
  if (json) {
    writeJson({ error: describeFailure(error) });
  } else {
    const { message, remedy } = describeFailure(error);
    complain(message, remedy);
  }
  return isCellarError(error) ? exitCodeFor(error) : EXIT.cellar;
}

export function describeFailure(error: unknown): {
  code: string;
  message: string;
  remedy: string | null;
} {
  const code = isCellarError(error) ? error.code : "INTERNAL_ERROR";
  const remedy = isCellarError(error) ? error.remedy : undefined;
  return { code, message: describeError(error), remedy: remedy ?? null };
}

export function complain(message: string, remedy?: string | null): void {
  const paint = painterFor(process.stderr);
  const shown = (text: string) => (isTerminal(process.stderr) ? escapeControls(text) : text);
  process.stderr.write(`${paint("red", "cellar:")} ${shown(message)}\n`);
  if (remedy) process.stderr.write(`  fix: ${shown(remedy).trimEnd()}\n`);
}

/** Also escapes C1 controls, which JSON leaves unescaped. */
export function writeJson(value: unknown): void {
  const text = JSON.stringify(value, null, 2).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  );
  process.stdout.write(`${text}\n`);
}

export function present(json: true | undefined, value: unknown, show: () => void): number {
  if (json === true) writeJson(value);
  else show();
  return EXIT.ok;
}

export function invalidInput(message: string, remedy?: string): CellarError {
  return new CellarError("INVALID_INPUT", message, { remedy });
}
