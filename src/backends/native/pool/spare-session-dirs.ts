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
/** One that waited so long elsewhere is taken for left; its host, if it lives, makes another. */
const LONG_AGO_MS = 24 * 60 * 60 * 1000;

export interface SparePlan {
  readonly zygote: Zygote;
  /** Where rooms are; undefined where there are none. */
  readonly rooms: string | undefined;
  readonly limits: Limits;
  readonly keep: number;
  readonly isWanted: boolean;
}

interface Spare {
  readonly room: SessionDir;
  readonly session: Session;
}

/** A session made ahead in a room of its own, which takes the name of the room that is wanted. */
export class SpareSessionDirs {
  readonly #plan: SparePlan;
  readonly #claimed = new Map<string, Session>();
  #spare: Spare | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(plan: SparePlan) {
    this.#plan = plan;
    if (plan.rooms !== undefined) sweep(plan.rooms);
  }

  /** Gives a room that does not exist yet the session that waits, if one does; not more. */
  claim(room: SessionDir): boolean {
    const spare = this.#spare;
    if (spare === undefined || room.hasEgress || existsSync(sessionDirPath(room))) return false;
    this.#spare = undefined;
    this.#refillLater();
    if (!spare.session.isAlive) {
      discard(spare);
      return false;
    }
    try {
      // What is mounted and held open inside moves with the folder.
      renameSync(sessionDirPath(spare.room), sessionDirPath(room));
    } catch {
      // Somebody has taken the folder away.
      discard(spare);
      return false;
    }
    this.#claimed.set(room.name, spare.session);
    return true;
  }

  /** The session in this room, or a new one. */
  take(room: SessionDir): Session {
    const claimed = this.#claimed.get(room.name);
    this.#claimed.delete(room.name);
    if (this.#spare === undefined) this.#refillLater();
    if (claimed?.isAlive === true) return claimed;
    return this.#spawn(room, false);
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

  #spawn(room: SessionDir, rehearse: boolean): Session {
    const { zygote, limits, keep: keepCheckpoints } = this.#plan;
    return zygote.spawn({ limits, keepCheckpoints, rehearse, room });
  }

  async #refill(): Promise<void> {
    const { zygote, rooms } = this.#plan;
    if (rooms === undefined || this.#spare !== undefined || this.#isClosed || !zygote.isAlive)
      return;
    const name = `spare-${labelOf(currentProcess())}-${randomBytes(4).toString("hex")}`;
    const room = { root: rooms, name, hasEgress: false };
    makeSessionDir(room);
    const spare = { room, session: this.#spawn(room, true) };
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

function discard({ room, session }: Spare): void {
  session.close();
  rmSync(sessionDirPath(room), { recursive: true, force: true });
}

/** Rooms that a host which was killed had made ahead. */
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
