import { randomBytes } from "node:crypto";
import { existsSync, lstatSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Limits } from "../../../protocol/messages.js";
import { currentProcess, labelOf, livenessOfLabel } from "../../host/process-identity.js";
import { makeSessionDir, type SessionDir, sessionDirPath } from "../../host/session-dir.js";
import type { Session } from "../../session/session.js";
import type { Zygote } from "../zygote/zygote.js";

/** A refill right behind a request would compete with the cells that follow it. */
const REFILL_DELAY_MS = 300;
const SPARE_NAME = /^spare-(\d+-\d*-[0-9a-f]{12})-[0-9a-f]{8}$/;
/** On another machine, whose processes cannot be seen: older ones are removed; a live host makes another. */
const LONG_AGO_MS = 24 * 60 * 60 * 1000;

export interface SparePlan {
  readonly zygote: Zygote;
  /** The folder of session folders, where sessions may have any. */
  readonly sessionRoot: string | undefined;
  readonly limits: Limits;
  readonly keepCheckpoints: number;
  readonly isWanted: boolean;
}

interface Spare {
  readonly dir: SessionDir;
  readonly session: Session;
}

/** A session made ahead in a spare folder, which is renamed to the one that is wanted. */
export class SpareSessionDirs {
  readonly #plan: SparePlan;
  readonly #claimed = new Map<string, Session>();
  #spare: Spare | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(plan: SparePlan) {
    this.#plan = plan;
    if (plan.sessionRoot !== undefined) sweep(plan.sessionRoot);
  }

  /** Makes the spare session that of this new folder; false where there is none or it is too late. */
  claim(dir: SessionDir): boolean {
    const spare = this.#spare;
    if (spare === undefined || dir.hasEgress || existsSync(sessionDirPath(dir))) return false;
    this.#spare = undefined;
    this.#refillLater();
    if (!spare.session.isAlive) {
      discard(spare);
      return false;
    }
    try {
      // What is mounted and held open inside moves with the folder.
      renameSync(sessionDirPath(spare.dir), sessionDirPath(dir));
    } catch {
      // The spare folder was removed.
      discard(spare);
      return false;
    }
    this.#claimed.set(dir.name, spare.session);
    return true;
  }

  take(dir: SessionDir): Session {
    const claimed = this.#claimed.get(dir.name);
    this.#claimed.delete(dir.name);
    if (this.#spare === undefined) this.#refillLater();
    if (claimed?.isAlive === true) return claimed;
    return this.#spawn(dir, false);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const session of this.#claimed.values()) session.close();
    if (this.#spare !== undefined) discard(this.#spare);
    this.#spare = undefined;
  }

  #refillLater(): void {
    if (!this.#plan.isWanted || this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#refill(), REFILL_DELAY_MS);
    this.#timer.unref();
  }

  #spawn(dir: SessionDir, warmUp: boolean): Session {
    const { zygote, limits, keepCheckpoints } = this.#plan;
    return zygote.forker.spawn({ limits, keepCheckpoints, warmUp, dir });
  }

  async #refill(): Promise<void> {
    const { zygote, sessionRoot } = this.#plan;
    if (sessionRoot === undefined || this.#spare !== undefined || this.#isClosed || !zygote.isAlive)
      return;
    const name = `spare-${labelOf(currentProcess())}-${randomBytes(4).toString("hex")}`;
    const dir = { root: sessionRoot, name, hasEgress: false };
    makeSessionDir(dir);
    const spare = { dir, session: this.#spawn(dir, true) };
    try {
      const head = await spare.session.head(0, 0);
      await head.request("configure", { environment: {} });
    } catch {
      discard(spare);
      return;
    }
    if (this.#isClosed || this.#spare !== undefined) discard(spare);
    else this.#spare = spare;
  }
}

function discard({ dir, session }: Spare): void {
  session.close();
  rmSync(sessionDirPath(dir), { recursive: true, force: true });
}

function sweep(root: string): void {
  for (const name of readdirSync(root)) {
    const [, maker] = SPARE_NAME.exec(name) ?? [];
    if (maker === undefined || !isLeft(join(root, name), maker)) continue;
    rmSync(join(root, name), { recursive: true, force: true });
  }
}

function isLeft(path: string, maker: string): boolean {
  const liveness = livenessOfLabel(maker);
  if (liveness !== "unknown") return liveness === "dead";
  const made = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return made !== undefined && Date.now() - made > LONG_AGO_MS;
}
