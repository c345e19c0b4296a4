import type { CodeExecution, REPLConfig, SandboxInfo } from "../backends/backend.js";
import type { FileContent } from "../backends/files/file-content.js";
import type { FileOptions } from "../backends/files/sandbox-files.js";
import type { FileListing, ReadOptions } from "../backends/files/workspace-file.js";
import type { ChainDivergence, ChainLog, ChainReport } from "../protocol/agent/chain-report.js";
import type { AgentCall, Finding } from "../protocol/messages.js";
import type { FinalAnswer } from "./observation/answer.js";
import type { Spilled } from "./observation/spill.js";
import type { AgentOptions } from "./options.js";
import type { AgentRecord } from "./record.js";
import type { SecretCounts } from "./redaction/redactor.js";
import type { ResearchContext } from "./research/context.js";
import type { ExplorationLog } from "./research/exploration.js";

export interface AgentReplOptions extends AgentOptions {
  /** What the agent explores: a text, a value, or `{ file }`. */
  readonly context?: unknown;
  readonly config?: REPLConfig | undefined;
}

export interface TurnOptions {
  readonly timeout?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** What the model wrote around its code: results that it names count as used. */
  readonly text?: string | undefined;
  /** The code comes from the same response as the turn before: its author saw no output between them. */
  readonly continues?: boolean | undefined;
}

export interface AgentTurn {
  readonly number: number;
  /** For the model. */
  readonly observation: string;
  readonly execution: CodeExecution;
  readonly final: FinalAnswer | undefined;
  readonly spilled: Spilled | undefined;
  readonly redacted: SecretCounts;
  readonly calls: readonly AgentCall[];
  readonly findings: readonly Finding[];
  /** How a structured turn with several tool calls was run. */
  readonly chain: ChainReport | undefined;
  /** Its calls with their results, from which it can be replayed. */
  readonly chainLog: ChainLog;
  /** Whether it answers only with constants that were written before their author saw any output. */
  readonly isLiteralAnswer: boolean;
}

/**
 * A Python session in which an agent explores a context too large for its model. The code behind it
 * (`LiveAgentRepl`) is loaded with the first one.
 */
export abstract class AgentRepl implements AsyncDisposable {
  static async open(given: AgentReplOptions = {}): Promise<AgentRepl> {
    const { LiveAgentRepl } = await import("./live-agent-repl.js");
    return await LiveAgentRepl.open(given);
  }

  abstract get info(): SandboxInfo;

  /** The folder with outputs that were too long to show. */
  abstract get spillFolder(): string;

  abstract get research(): ResearchContext;

  abstract get exploration(): ExplorationLog;

  /** Runs a cell that does not count as a turn, for example to define helpers. */
  abstract prepare(code: string): Promise<void>;

  abstract variable(name: string): Promise<unknown>;

  /** Copies a file into the session's /workspace, as `putFile` of a sandbox does. */
  abstract putFile(path: string, content: FileContent, options?: FileOptions): Promise<void>;

  abstract getFile(path: string, options?: ReadOptions & FileOptions): Promise<Buffer>;

  abstract listFiles(options?: FileOptions): Promise<FileListing>;

  abstract turn(code: string, options?: TurnOptions): Promise<AgentTurn>;

  /**
   * Where a structured turn leaves the log of a chain (`chainLog` of its turn); undefined if nowhere. No tool is called, and
   * no variable changes.
   */
  abstract replayChain(code: string, log: ChainLog): Promise<ChainDivergence | undefined>;

  /** A block for the prompt: context, variables, findings, and the map of calls. */
  abstract state(): Promise<string>;

  /** Everything that JSON can express, without the context. */
  abstract checkpoint(): Promise<AgentRecord>;

  /** Continues from a checkpoint in a new session; returns the names that were refused. */
  abstract restore(value: unknown): Promise<readonly string[]>;

  /** Starts a new session with the same context. */
  abstract reset(): Promise<void>;

  abstract cancel(): Promise<void>;

  /** From now on cells have no network, and no tool that reaches it may be called; also after `reset()`. */
  abstract markPrivate(reason?: string): Promise<void>;

  /** The files of long outputs stay. */
  abstract close(): Promise<void>;

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
