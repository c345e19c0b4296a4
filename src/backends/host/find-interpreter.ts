import { type Surroundings, userFolders } from "../../config/environment.js";
import type { Settings } from "../../config.js";
import {
  type Interpreter,
  interpreterCandidates,
  resolveInterpreter,
} from "../../isolation/interpreter.js";

/** `stores` are further folders that no session may see as a whole. */
export function findInterpreter(
  settings: Settings,
  surroundings: Surroundings,
  stores: readonly string[] = [],
): Promise<Interpreter> {
  const { home, path, temporary } = surroundings;
  const candidates = interpreterCandidates({ ...surroundings, configured: settings.python });
  const folders = [temporary, ...Object.values(userFolders()), ...stores];
  const environment = { HOME: home, PATH: path };
  const isRoot = process.getuid?.() === 0;
  return resolveInterpreter(candidates, { environment, guarded: { home, folders, isRoot } });
}
