import type { Usage } from "./census.js";

/** How much a workspace may hold. */
export interface WorkspaceLimit {
  readonly bytes: number;
  readonly files: number;
}

/** As many as fit into the workspace of a session that keeps nothing. */
export const MAX_FILES = 20_000;
const INTERVAL = 1_000;
const MEBIBYTE = 1024 * 1024;

export interface Overrun extends Usage {
  readonly limit: WorkspaceLimit;
}

/** What the cell is told that went over it. */
export interface OverrunReport {
  readonly name: "WorkspaceQuotaExceeded";
  readonly message: string;
  readonly hint: string;
}

/** Looks at what a workspace holds while a cell runs. */
export class Quota {
  readonly #usage: (signal: AbortSignal) => Promise<Usage>;
  readonly #limit: WorkspaceLimit;

  constructor(usage: (signal: AbortSignal) => Promise<Usage>, limit: WorkspaceLimit) {
    this.#usage = usage;
    this.#limit = limit;
  }

  /** Undefined where it fits. What could not be counted whole does not. */
  judge(usage: Usage): Overrun | undefined {
    const { bytes, files, isWhole } = usage;
    const fits = isWhole && bytes <= this.#limit.bytes && files <= this.#limit.files;
    return fits ? undefined : { ...usage, limit: this.#limit };
  }

  /** Calls `over` at most once. A look that fails is `failed`: what is not counted is not allowed. */
  watch(over: (overrun: Overrun) => void, failed: (error: unknown) => void): Disposable {
    const end = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const look = async () => {
      try {
        const overrun = this.judge(await this.#usage(end.signal));
        if (end.signal.aborted) return;
        if (overrun === undefined) arm();
        else over(overrun);
      } catch (error) {
        if (!end.signal.aborted) failed(error);
      }
    };
    const arm = () => {
      timer = setTimeout(() => void look(), INTERVAL).unref();
    };
    arm();
    return {
      [Symbol.dispose]: () => {
        end.abort();
        clearTimeout(timer);
      },
    };
  }
}

export function describeOverrun({ bytes, files, isWhole, limit }: Overrun): OverrunReport {
  return {
    name: "WorkspaceQuotaExceeded",
    message: problemOf(bytes, files, limit, isWhole),
    hint: "delete files you no longer need",
  };
}

function problemOf(bytes: number, files: number, limit: WorkspaceLimit, isWhole: boolean): string {
  if (bytes > limit.bytes) {
    return `/workspace holds ${megabytes(bytes)} MB; it may hold ${megabytes(limit.bytes)} MB`;
  }
  if (files > limit.files) {
    const least = isWhole ? "" : "at least ";
    return `/workspace holds ${least}${files} files and folders; it may hold ${limit.files}`;
  }
  return "/workspace has folders in folders that are too deep to be counted";
}

function megabytes(bytes: number): string {
  return (bytes / MEBIBYTE).toFixed(1).replace(/\.0$/, "");
}
