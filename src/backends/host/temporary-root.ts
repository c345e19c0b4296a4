import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { temporaryTrouble } from "../../isolation/temporary-trouble.js";

/** A zygote is shown one folder, so the sessions of a process share it. */
const shared: { root?: string } = {};

/** The name lets a later process remove it if this one is killed. */
export function temporaryRoot(): string {
  if (shared.root !== undefined && existsSync(shared.root)) return shared.root;
  const root = makeRoot(tmpdir());
  // The sandbox's user passes through to its own folder, and cannot list the others.
  chmodSync(root, 0o711);
  process.once("exit", () => rmSync(root, { recursive: true, force: true }));
  shared.root = root;
  return root;
}

function makeRoot(temporary: string): string {
  try {
    return mkdtempSync(join(temporary, `cellar-${process.pid}-`));
  } catch (error) {
    throw temporaryTrouble("the files of a session", temporary, error);
  }
}
