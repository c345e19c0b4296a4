import { type HostEnvironment, userFolders } from "../../config/environment.js";
import type { Settings } from "../../config.js";
import {
  type Interpreter,
  interpreterCandidates,
  resolveInterpreter,
} from "../../isolation/interpreter.js";
import type { EarlyAnswer } from "../../isolation/interpreter-question.js";
import { questionEnvironment } from "./early-answer.js";

/** `stores` are further folders that no session may see as a whole. */
export function findInterpreter(
  settings: Settings,
  hostEnvironment: HostEnvironment,
  stores: readonly string[] = [],
  early?: EarlyAnswer,
): Promise<Interpreter> {
  const { home, temporary } = hostEnvironment;
  const candidates = interpreterCandidates({ ...hostEnvironment, configured: settings.python });
  const folders = [temporary, ...Object.values(userFolders()), ...stores];
  const environment = questionEnvironment(hostEnvironment);
  const isRoot = process.getuid?.() === 0;
  return resolveInterpreter(candidates, { environment, guarded: { home, folders, isRoot }, early });
}
