import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type SessionDir, sessionDirPath } from "../../backends/host/session-dir.js";
import { diskFault, hasCode } from "../store/disk-faults.js";
import type { NotebookId } from "../store/store.js";

/** In a session folder: the notebook it belongs to, in case no head can be read. */
const SIGN_FILE = "notebook";
const LONGEST_SIGN = 1024;

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

export async function writeOwnerMark(sessionDir: SessionDir, id: NotebookId): Promise<void> {
  try {
    await using file = await open(join(sessionDirPath(sessionDir), SIGN_FILE), "wx", 0o600);
    await file.writeFile(textOf(id));
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw diskFault("writing the session folder", error);
  }
}

/** The names of all session folders made for a notebook. */
export async function sessionDirsOf(root: string, id: NotebookId): Promise<readonly string[]> {
  const wanted = textOf(id);
  const found: string[] = [];
  for (const name of await namesIn(root)) {
    if ((await readSign(join(root, name, SIGN_FILE))) === wanted) found.push(name);
  }
  return found;
}

function textOf({ user, session }: NotebookId): string {
  return JSON.stringify({ user, session });
}

async function namesIn(root: string): Promise<string[]> {
  try {
    return await readdir(root);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw diskFault(`listing ${root}`, error);
  }
}

async function readSign(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const info = await file.stat();
    if (!info.isFile() || info.size > LONGEST_SIGN) return undefined;
    return await file.readFile("utf8");
  } catch {
    return undefined;
  }
}
