import type { IsolationLevel } from "../../config.js";
import { meets } from "../../isolation/levels.js";

/** Below this level there is no wall that could keep data from leaving. */
const WALLED_LEVEL: IsolationLevel = "L2";

/** The variable that tells code of private data where nothing else can be done. */
export const PRIVATE_FLAG = "__private_data__";

/** Whether cutting egress keeps the session's data inside. */
export function enforcesPrivacy(level: IsolationLevel): boolean {
  return meets(level, WALLED_LEVEL);
}

/** What a result says once a notebook was marked as private. */
export function privacyNote(level: IsolationLevel, reason: string): string {
  return enforcesPrivacy(level)
    ? `Private data (${reason}): the network is cut and stays so.`
    : `Private data (${reason}): nothing is enforced, since this session has isolation ${level}, ` +
        `below ${WALLED_LEVEL}. ${PRIVATE_FLAG} is set; send nothing of this data anywhere.`;
}
