import { CellarError, describeError } from "../../../errors.js";
import type { REPLConfig } from "../../backend.js";
import type { PreparedTools } from "../../host-tools/prepared-tools.js";

type OutputCallbacks = Pick<REPLConfig, "onStdout" | "onStderr" | "onBackground" | "onDisplay">;

/** What a sandbox calls and hands on, beside its settings. */
export interface Callbacks
  extends OutputCallbacks,
    Pick<REPLConfig, "env" | "onLLMQuery" | "onRLMQuery"> {
  readonly tools?: PreparedTools | undefined;
}

/** The caller's functions run in the middle of a cell; what they throw must not end it. */
export function guardCallbacks(callbacks: OutputCallbacks): OutputCallbacks {
  let isTold = false;
  const warn = (error: unknown) => {
    if (isTold) return;
    isTold = true;
    process.emitWarning(`an output callback failed: ${describeError(error)}`, {
      type: "CellarWarning",
      detail: error instanceof Error ? (error.stack ?? "") : "",
    });
  };
  const guard = <A extends unknown[]>(
    name: string,
    callback: ((...values: A) => void) | undefined,
  ): ((...values: A) => void) | undefined => {
    if (callback === undefined) return undefined;
    if (typeof callback !== "function") {
      throw new CellarError("INVALID_CONFIG", `${name} must be a function`);
    }
    return (...values) => {
      try {
        const outcome: unknown = callback(...values);
        if (outcome instanceof Promise) outcome.catch(warn);
      } catch (error) {
        warn(error);
      }
    };
  };
  return {
    onStdout: guard("onStdout", callbacks.onStdout),
    onStderr: guard("onStderr", callbacks.onStderr),
    onBackground: guard("onBackground", callbacks.onBackground),
    onDisplay: guard("onDisplay", callbacks.onDisplay),
  };
}

/** Models are asked by text and answer by text. */
export function answerText(name: string, answer: unknown): string {
  if (typeof answer === "string") return answer;
  throw new Error(`${name} must give a string, not ${answer === null ? "null" : typeof answer}`);
}
