import type { WorkspaceLimit } from "../../backends/files/workspace-file.js";
import type { Usage } from "./scan.js";

const INTERVAL = 1_000;
const STRICT_INTERVAL = 250;
const SLACK = 1 / 64;
const BEYOND = 2;
const MEBIBYTE = 1024 * 1024;

export interface Overrun extends Usage {
  readonly limit: WorkspaceLimit;
}

export interface OverrunReport {
  readonly name: "WorkspaceQuotaExceeded";
  readonly message: string;
  readonly hint: string;
}

export class Quota {
  readonly #usage: (signal: AbortSignal) => Promise<Usage>;
  readonly #limit: WorkspaceLimit;

  constructor(usage: (signal: AbortSignal) => Promise<Usage>, limit: WorkspaceLimit) {
    this.#usage = usage;
    this.#limit = limit;
  }

  /**
   * Undefined where it fits. What could not be counted whole does not. A workspace that `held` too
   * much before may hold that much on, but not grow.
   */
  judge(usage: Usage, held?: Usage): Overrun | undefined {
    const { bytes, files, isWhole } = usage;
    const most = this.#allowance(held);
    const fits = isWhole && bytes <= most.bytes && files <= most.files;
    return fits ? undefined : { ...usage, limit: this.#limit };
  }

  /** Whether there is too much to run even code that deletes files. */
  isBeyond({ bytes, files }: Usage): boolean {
    return bytes > BEYOND * this.#limit.bytes || files >= BEYOND * this.#limit.files;
  }

  /** More than 1 is too much. */
  shareOf({ bytes, files }: Usage): number {
    return Math.max(bytes / this.#limit.bytes, files / this.#limit.files);
  }

  /**
   * Calls `over` at most once. A look that fails is `failed`: what is not counted is not allowed.
   * `held` is what there was before.
   */
  watch(
    over: (overrun: Overrun) => void,
    failed: (error: unknown) => void,
    held?: Usage,
  ): Disposable {
    const isStrict = held !== undefined && this.judge(held) !== undefined;
    const end = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const look = async () => {
      try {
        const overrun = this.judge(await this.#usage(end.signal), held);
        if (end.signal.aborted) return;
        if (overrun === undefined) arm();
        else over(overrun);
      } catch (error) {
        if (!end.signal.aborted) failed(error);
      }
    };
    const arm = () => {
      timer = setTimeout(() => void look(), isStrict ? STRICT_INTERVAL : INTERVAL).unref();
    };
    arm();
    return {
      [Symbol.dispose]: () => {
        end.abort();
        clearTimeout(timer);
      },
    };
  }

  #allowance(held: Usage | undefined): WorkspaceLimit {
    const { bytes, files } = this.#limit;
    if (held === undefined || this.judge(held) === undefined) return this.#limit;
    return {
      bytes: Math.max(bytes, held.bytes + bytes * SLACK),
      files: Math.max(files, held.files + files * SLACK),
    };
  }
}

export function describeRefusal(overrun: Overrun): OverrunReport {
  const { name, message } = describeOverrun(overrun);
  const hint =
    "nothing was run: /workspace holds more than twice its limit; " +
    "ask the user to remove files (removeFile)";
  return { name, message, hint };
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
  return "/workspace has folders nested too deeply to count";
}

function megabytes(bytes: number): string {
  return (bytes / MEBIBYTE).toFixed(1).replace(/\.0$/, "");
}
