import type { CellarError } from "../../errors.js";
import { closedError } from "../session/checks.js";

export function shutDown(): CellarError {
  return closedError("the runtime was shut down");
}
