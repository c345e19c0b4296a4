import { matchesRule } from "../egress/file-rules.js";
import { enforcesPrivacy, PRIVATE_FLAG } from "../egress/privacy-enforcement.js";
import type { EgressProxy } from "../egress/proxy.js";
import type { FileChanges } from "./cell.js";
import type { Journal } from "./document/journal.js";
import type { LiveSession } from "./run/live-session.js";
import type { Workspace } from "./workspace/workspace.js";

const LONGEST_REASON = 1000;
const UNSEEN = "too many files to look at each";

/** Keeps private data from leaving: once there is any, nothing can be reached any more. */
export class PrivacyGuard {
  readonly #journal: Journal;
  readonly #proxy: EgressProxy | undefined;
  readonly #globs: readonly string[];

  constructor(journal: Journal, proxy: EgressProxy | undefined, globs: readonly string[]) {
    this.#journal = journal;
    this.#proxy = proxy;
    this.#globs = globs;
  }

  /** Cuts first, then makes it last. */
  async mark(given: string): Promise<void> {
    const reason = String(given).slice(0, LONGEST_REASON);
    this.#proxy?.cut(reason);
    const mark = { reason, at: new Date().toISOString() };
    await this.#journal.commit((now) => (now.private === null ? { ...now, private: mark } : now));
  }

  /** Undefined where no rule fits, or nothing is left to be done. */
  reasonFor(paths: readonly string[]): string | undefined {
    if (!this.isLooking) return undefined;
    const found = paths.find((path) => matchesRule(path, this.#globs));
    return found === undefined ? undefined : `the file ${found} is in the workspace`;
  }

  /** Whether files still have to be looked for. */
  get isLooking(): boolean {
    return this.#globs.length > 0 && this.#journal.document.private === null;
  }

  /** Looks at all files, whoever made them and when; tells whether the notebook is private now. */
  async survey(workspace: Pick<Workspace, "files">): Promise<boolean> {
    if (!this.isLooking) return false;
    const { files, isCut } = await workspace.files();
    const reason = this.reasonFor(files.map(({ path }) => path)) ?? (isCut ? UNSEEN : undefined);
    if (reason === undefined) return false;
    await this.mark(reason);
    return true;
  }

  /** After a cell. Files that were too many to be listed may be of any name. */
  async inspect(
    { created, changed, omitted = 0 }: FileChanges,
    session: LiveSession,
  ): Promise<void> {
    const paths = [...created, ...changed];
    const unseen = omitted > 0 && this.isLooking;
    const reason = this.reasonFor(paths) ?? (unseen ? UNSEEN : undefined);
    if (reason === undefined) return;
    await this.mark(reason);
    if (!session.isLost) await flagPrivate(session);
  }
}

/** Code is told of private data where no wall keeps it from leaving. */
export async function flagPrivate(session: LiveSession): Promise<void> {
  if (enforcesPrivacy(session.info.isolation.level)) return;
  await session.sandbox.setVariable(PRIVATE_FLAG, true);
}
