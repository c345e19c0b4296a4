import type { HostEnvironment } from "../../config/environment.js";
import { EarlyAnswer, type QuestionOptions } from "../../isolation/interpreter-question.js";
import { interpreterCandidates } from "../../isolation/python-candidates.js";

/** Asks the interpreter that is tried first; `configured` has not been checked yet. */
export function answerEarly(
  configured: unknown,
  hostEnvironment: HostEnvironment,
): EarlyAnswer | undefined {
  if (configured !== undefined && typeof configured !== "string") return undefined;
  const [first] = interpreterCandidates({ ...hostEnvironment, configured });
  return (
    first && new EarlyAnswer(first.path, { environment: questionEnvironment(hostEnvironment) })
  );
}

export function questionEnvironment({
  home,
  path,
}: HostEnvironment): NonNullable<QuestionOptions["environment"]> {
  return { HOME: home, PATH: path };
}
