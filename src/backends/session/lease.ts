import type { SandboxInfo } from "../backend.js";
import type { LargeContext } from "./context/context.js";
import type { Session } from "./session.js";

/** Where a sandbox lives: a session, and one branch of it. */
export interface SessionLease {
  readonly session: Session;
  readonly branch: number;
  readonly info: SandboxInfo;
  /** The context that its heads are born with. */
  readonly context: LargeContext | undefined;
  /** Whether a session that is born with a context could be had in its place. */
  readonly canHoldContexts: boolean;
  /** Another branch of the same session, for a twin. */
  share(): SessionLease;
  /** Ends the branch; the session too, when it was the last. */
  leave(milliseconds?: number): Promise<void>;
}

/** Opens a session and leases a branch of it, with the context in it where it can; the next one too when a session is lost. */
export type SessionFactory = (context?: LargeContext) => Promise<SessionLease>;

export interface LeaseKind {
  readonly context?: LargeContext | undefined;
  readonly canHoldContexts?: boolean;
}

/** Counts the branches of one session. */
class BranchCount {
  readonly #open = new Set<number>();
  #next = 0;

  enter(): number {
    const branch = this.#next++;
    this.#open.add(branch);
    return branch;
  }

  leave(branch: number): boolean {
    this.#open.delete(branch);
    return this.#open.size === 0;
  }
}

export function lodge(session: Session, info: SandboxInfo, kind: LeaseKind = {}): SessionLease {
  return enter(new BranchCount(), session, info, kind);
}

function enter(
  house: BranchCount,
  session: Session,
  info: SandboxInfo,
  kind: LeaseKind,
): SessionLease {
  const branch = house.enter();
  return {
    session,
    branch,
    info,
    context: kind.context,
    canHoldContexts: kind.canHoldContexts ?? false,
    share: () => enter(house, session, info, kind),
    leave: async (milliseconds = 0) => {
      if (house.leave(branch)) {
        session.close();
        await withinTime(session.gone, milliseconds);
      } else if (session.isAlive) {
        await session.askInit("drop", { branch }).catch(() => {});
        session.forget(branch);
      }
    },
  };
}

async function withinTime(work: Promise<void>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** The same lodgings, whose `info` also tells why this backend was chosen. */
export function explained(openSession: SessionFactory, chosen: string | undefined): SessionFactory {
  if (chosen === undefined) return openSession;
  const telling = (lease: SessionLease): SessionLease => ({
    ...lease,
    info: { ...lease.info, reason: `${chosen}; ${lease.info.reason}` },
    share: () => telling(lease.share()),
  });
  return async (...wanted) => telling(await openSession(...wanted));
}
