import { type HostEnvironment, userFolders } from "../../config/environment.js";
import type { Settings } from "../../config.js";
import {
  type Interpreter,
  interpreterCandidates,
  resolveInterpreter,
} from "../../isolation/interpreter.js";

/** `stores` are further folders that no session may see as a whole. */
export function findInterpreter(
  settings: Settings,
  hostEnvironment: HostEnvironment,
  stores: readonly string[] = [],
): Promise<Interpreter> {
  const { home, path, temporary } = hostEnvironment;
  const candidates = interpreterCandidates({ ...hostEnvironment, configured: settings.python });
  const folders = [temporary, ...Object.values(userFolders()), ...stores];
  const environment = { HOME: home, PATH: path };
  const isRoot = process.getuid?.() === 0;
  return resolveInterpreter(candidates, { environment, guarded: { home, folders, isRoot } });
}
