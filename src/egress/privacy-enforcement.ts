import type { IsolationLevel } from "../config.js";
import { meets } from "../isolation/levels.js";

/** Below this level nothing keeps data from leaving. */
const WALLED_LEVEL: IsolationLevel = "L2";

/** Set in Python where nothing enforces privacy. */
export const PRIVATE_FLAG = "__private_data__";

export function enforcesPrivacy(level: IsolationLevel): boolean {
  return meets(level, WALLED_LEVEL);
}

export function privacyNote(level: IsolationLevel, reason: string): string {
  return enforcesPrivacy(level)
    ? `Private data (${reason}): the network is cut for good.`
    : `Private data (${reason}): nothing is enforced, because this session has isolation ${level}, ` +
        `below ${WALLED_LEVEL}. ${PRIVATE_FLAG} is set; do not send this data anywhere.`;
}
