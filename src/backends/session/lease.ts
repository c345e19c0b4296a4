import type { SandboxInfo } from "../backend.js";
import type { LargeContext } from "./context/context.js";
import type { Session } from "./session.js";

/** Opens the sessions of one sandbox: the first one, and another when one is lost. */
export interface SessionFactory {
  /** With the context already loaded, where the backend can do that. */
  open(context?: LargeContext): Promise<SessionLease>;
}

export interface LeaseFacts {
  readonly info: SandboxInfo;
  readonly context?: LargeContext | undefined;
  /** Whether another session could be opened with a context already loaded. */
  readonly canHoldContexts?: boolean;
}

/** One branch of a session, held by one sandbox. The last lease to be returned closes the session. */
export class SessionLease {
  readonly session: Session;
  readonly branch: number;
  readonly facts: LeaseFacts;

  constructor(session: Session, facts: LeaseFacts) {
    this.session = session;
    this.facts = facts;
    this.branch = session.addBranch();
  }

  get info(): SandboxInfo {
    return this.facts.info;
  }

  share(): SessionLease {
    return new SessionLease(this.session, this.facts);
  }

  /** Ends the branch; where it was the last, the session too, which has that long to be gone. */
  async leave(milliseconds = 0): Promise<void> {
    const { session, branch } = this;
    if (session.removeBranch(branch)) {
      await session.end(milliseconds);
    } else if (session.isAlive) {
      await session.askInit("drop", { branch }).catch(() => {});
      session.forget(branch);
    }
  }
}
