import type { SandboxInfo } from "../backend.js";
import type { Family } from "./family.js";

/** Where a sandbox lives: a session, and one branch of it. */
export interface Lodging {
  readonly family: Family;
  readonly branch: number;
  readonly info: SandboxInfo;
  /** Another branch of the same session, for a twin. */
  share(): Lodging;
  /** Ends the branch; the session too, when it was the last. */
  leave(milliseconds?: number): Promise<void>;
}

/** Makes the next lodging when a session is lost. */
export type Birthplace = () => Promise<Lodging>;

/** Counts the branches of one session. */
class House {
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

export function lodge(family: Family, info: SandboxInfo): Lodging {
  return enter(new House(), family, info);
}

function enter(house: House, family: Family, info: SandboxInfo): Lodging {
  const branch = house.enter();
  return {
    family,
    branch,
    info,
    share: () => enter(house, family, info),
    leave: async (milliseconds = 0) => {
      if (house.leave(branch)) {
        family.close();
        await withinTime(family.gone, milliseconds);
      } else if (family.isAlive) {
        const dropped = family.init().then((init) => init.request("drop", { branch }));
        await dropped.catch(() => {});
        family.forget(branch);
      }
    },
  };
}

async function withinTime(work: Promise<void>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
