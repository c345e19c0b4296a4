import type { IsolationLevel, Settings } from "../config.js";
import type { ChainDivergence, ChainLog } from "../protocol/agent/chain-report.js";
import type { AgentReport, MimeBundle, Replaced, Result, Variable } from "../protocol/messages.js";
import type { FileContent } from "./files/file-content.js";
import type { FileOptions } from "./files/sandbox-files.js";
import type { FileListing, ReadOptions } from "./files/workspace-file.js";
import type { HostTools, ToolProvider } from "./host-tools/host-tool.js";

export type ExecutionStatus = "ok" | "error" | "timeout" | "cancelled" | "oom" | "crashed";

export interface ExecutionError {
  readonly type: string;
  readonly message: string;
  readonly traceback: string;
  /** What to do about it, where that is known. */
  readonly hint?: string | undefined;
}

/** What separates the code from the host, as probed, not as configured. */
export interface Isolation {
  readonly level: IsolationLevel;
  readonly missing: readonly string[];
}

/** The truth about the session's variables after a cell. */
export interface StateReport {
  /** True when everything before this cell is still there. */
  readonly survived: boolean;
  /** The newest checkpoint that is held: of this result's state, unless `unsaved`; null when there is none. */
  readonly checkpoint: number | null;
  /** How many of the last cells it does not hold yet: they would be lost if the process ended now. */
  readonly unsaved?: number | undefined;
  /** The cells whose effects are lost, when `survived` is false for them. */
  readonly lostCells?: readonly number[] | undefined;
  /** Why there is no checkpoint, or what was lost. */
  readonly reason?: string | undefined;
  /** Sockets and pipes that could not come back with a restored checkpoint. */
  readonly lost?: readonly string[] | undefined;
}

/** Text and rich results in the order in which they appeared. */
export type Output =
  | {
      readonly type: "stdout" | "stderr";
      readonly text: string;
      readonly afterResult?: true | undefined;
    }
  | {
      readonly type: "display";
      readonly data: MimeBundle;
      readonly binary: Readonly<Record<string, Uint8Array>>;
      readonly metadata: Readonly<Record<string, unknown>>;
      /** By which Python can replace it. */
      readonly displayId?: string | undefined;
      /** It has taken the place of what was shown under this id before. */
      readonly isUpdate?: true | undefined;
      /** It is the value of an expression: mostly the images of the result. */
      readonly isResult?: true | undefined;
      /** It came after the value or the error of the cell, as the figures of its end do. */
      readonly afterResult?: true | undefined;
    };

export interface CodeExecution {
  /** Counts the cells of a sandbox from 1; tracebacks name it as `<cell N>`. */
  readonly number: number;
  readonly code: string;
  readonly status: ExecutionStatus;
  readonly stdout: string;
  readonly stderr: string;
  readonly error: ExecutionError | null;
  /** The value of the last expression by MIME type, `text/plain` always among them. */
  readonly result: MimeBundle | null;
  readonly outputs: readonly Output[];
  /** Bytes left out of stdout and stderr; the text carries a notice at that place. */
  readonly omitted: { readonly stdout: number; readonly stderr: number };
  /** What `sys.exit` was called with, as a process would end. */
  readonly exitCode: number | null;
  /** Processes that the session left running. */
  readonly background: number;
  /** Milliseconds. */
  readonly duration: number;
  readonly isolation: Isolation;
  readonly state: StateReport;
  /** Characters of the code that were replaced before it ran. */
  readonly replaced?: Replaced | undefined;
  /** What the functions of an agent did, where the session has them. */
  readonly agent?: AgentReport | undefined;
}

/** Completions in Jupyter's form: each match can replace `start` to `end`. */
export interface Completion {
  readonly matches: readonly string[];
  readonly start: number;
  readonly end: number;
}

/** Whether code can be run as it is, in Jupyter's form; `indent` begins the next line. */
export type Completeness = Result<"is_complete">;

export interface Checkpoint {
  readonly id: number;
  /** The cell after which it was made; 0 for the start. */
  readonly cell: number;
}

export interface SandboxInfo {
  readonly backend: "native" | "daemon" | "pyodide";
  readonly mode: "zygote" | "plain" | "worker" | "direct";
  readonly isolation: Isolation;
  readonly python: { readonly version: string; readonly executable: string };
  /** Why this backend and mode were taken. */
  readonly reason: string;
}

export interface Mount {
  readonly host: string;
  readonly guest: string;
  readonly readonly?: boolean | undefined;
}

export interface QueryOptions {
  /** Aborted when the cell is cancelled, runs out of time or is over. */
  readonly signal: AbortSignal;
  /** The name that Python gave as `model`. */
  readonly model?: string;
}

export type LLMQuery = (prompt: string, options: QueryOptions) => string | Promise<string>;

export type RLMQuery = (
  task: string,
  context: unknown,
  options: QueryOptions,
) => string | Promise<string>;

/** Settings of one sandbox; everything has a default. */
export interface REPLConfig extends Partial<Omit<Settings, "limits">> {
  /** `auto`: a daemon that runs and answers, else this machine's Python, else Pyodide. */
  backend?: "auto" | "native" | "daemon" | "pyodide" | undefined;
  limits?: Partial<Settings["limits"]> | undefined;
  /** Folders of the host that the sandbox sees. */
  mounts?: readonly Mount[] | undefined;
  /** Variables of the environment inside; nothing of the host's passes in. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Called with each line of output as it appears, and with unfinished lines after 100 ms. */
  onStdout?: ((text: string) => void) | undefined;
  onStderr?: ((text: string) => void) | undefined;
  /** Called with output that no cell is waiting for: threads and processes left running. */
  onBackground?: ((text: string, stream: "stdout" | "stderr") => void) | undefined;
  onDisplay?: ((output: Output & { type: "display" }) => void) | undefined;
  /** Answers `llm_query` in Python. What it throws is raised there. */
  onLLMQuery?: LLMQuery | undefined;
  /** Answers `rlm_query` in Python; without a context of its own it gets the sandbox's. */
  onRLMQuery?: RLMQuery | undefined;
  /** Functions of yours that Python may call by these names. */
  tools?: HostTools | ToolProvider | undefined;
  /** Cells have no network, and no tool that reaches it may be called. */
  private?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

export interface ExecuteOptions {
  timeout?: number | undefined;
  maxOutputLength?: number | undefined;
  /** `sys.argv` from this cell on. A first word that names a script gives the cell a `__file__` too. */
  argv?: readonly string[] | undefined;
  /** The cell comes from the same response of a model as the one before: its author saw no output between them. */
  continues?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** What an agent needs of its session beside the surface of every backend. */
export interface AgentSandbox extends ISandbox {
  /** Whether this is run by one of the caller's functions, for which a cell waits. */
  readonly isCalledFromWithin: boolean;
  /** Ends the connections of cells and refuses new ones, for good; false where only ending the session can. */
  cutNetwork(reason: string): boolean;
  /** What the functions of the agent remember, for `setAgentState` of another session. */
  getAgentState(): Promise<unknown>;
  setAgentState(state: unknown): Promise<void>;
  /** Where a structured turn leaves the log of a chain; undefined if nowhere. No tool is called. */
  replayChain(code: string, log: ChainLog): Promise<ChainDivergence | undefined>;
  /** Writes long outputs as files of the session's own; the folder of these files. */
  putSpilled(files: readonly SpilledFile[]): Promise<string>;
}

export interface SpilledFile {
  readonly name: string;
  readonly text: string;
}

/** The surface every backend offers. */
export interface ISandbox extends AsyncDisposable {
  readonly info: SandboxInfo;
  /** Makes `context` known to Python under that name. */
  initialize(context?: unknown): Promise<void>;
  execute(code: string, options?: ExecuteOptions): Promise<CodeExecution>;
  getVariable(name: string): Promise<unknown>;
  setVariable(name: string, value: unknown): Promise<void>;
  variables(): Promise<readonly Variable[]>;
  /** Replaces a file of /workspace as a whole, or makes it, with the folders that it needs. */
  putFile(path: string, content: FileContent, options?: FileOptions): Promise<void>;
  /** What the file has when it is opened. Links are not followed. */
  getFile(path: string, options?: ReadOptions & FileOptions): Promise<Buffer>;
  /** The files in /workspace by path, 10,000 at most. */
  listFiles(options?: FileOptions): Promise<FileListing>;
  /** Names, attributes, keys, modules, magics and files that fit at the cursor, which is at the end by default. */
  complete(code: string, cursor?: number): Promise<Completion>;
  /** Whether the code can be run, needs more lines, or is wrong whatever follows. A blank line ends a block. */
  isComplete(code: string): Promise<Completeness>;
  /** Interrupts the running cell and takes back the waiting ones. */
  cancel(): Promise<void>;
  checkpoints(): Promise<readonly Checkpoint[]>;
  /** Goes back to the state before the last `cells` cells. */
  undo(cells?: number): Promise<Checkpoint>;
  /** A second sandbox with the same state, behind the same walls and limits. */
  fork(): Promise<ISandbox>;
  destroy(): Promise<void>;
}
