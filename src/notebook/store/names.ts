import { CellarError } from "../../errors.js";
import type { NotebookId } from "./store.js";

const MAX_LENGTH = 64;
const SHAPE = /^[A-Za-z0-9_@][A-Za-z0-9._@-]*$/;
/** Device names of some file systems. */
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

const RULE =
  `use 1 to ${MAX_LENGTH} letters (a-z, A-Z), digits and . _ - @, ` +
  "not starting with . or -, and not ending with a dot";

/** Refuses names that could lead elsewhere or be confused with another. */
export function checkName(kind: "user" | "session", name: unknown): string {
  if (typeof name !== "string") throw refused(kind, `must be a text, not ${typeof name}`);
  if (name === "") throw refused(kind, "is empty");
  if (name.length > MAX_LENGTH) throw refused(kind, `has ${name.length} characters`);
  if (!SHAPE.test(name) || name.endsWith(".")) {
    throw refused(kind, `${JSON.stringify(name)} has characters that cannot be used`);
  }
  if (RESERVED.test(name)) throw refused(kind, `${name} is reserved by some systems`);
  return name;
}

export function checkId({ user, session }: NotebookId): NotebookId {
  return { user: checkName("user", user), session: checkName("session", session) };
}

/** Marks capitals, since some file systems ignore case. */
export function folderName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `+${letter.toLowerCase()}`);
}

export function nameOfFolder(kind: "user" | "session", folder: string): string | undefined {
  const name = folder.replace(/\+([a-z])/g, (_, letter: string) => letter.toUpperCase());
  try {
    return folderName(checkName(kind, name)) === folder ? name : undefined;
  } catch {
    return undefined;
  }
}

function refused(kind: string, why: string): CellarError {
  return new CellarError("INVALID_INPUT", `the name of the ${kind} ${why}`, { remedy: RULE });
}
