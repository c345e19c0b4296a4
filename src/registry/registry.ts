import type { HostTools } from "../backends/host-tools/host-tool.js";
import { unlessAborted } from "../concurrency/abort.js";
import { suggestion } from "../config/names.js";
import { CellarError, describeError } from "../errors.js";
import { ArgumentCheck, checkToolNames } from "./arguments.js";
import { type ApprovalAnswer, Approvals, type Risk } from "./control/approvals.js";
import {
  type ChainPlace,
  detached,
  type Invocation,
  type InvocationListener,
  InvocationLog,
  shortened,
} from "./control/invocation-log.js";
import { readPolicies, refusalOf, type ToolPolicy } from "./control/policy.js";
import { Secrets } from "./control/secrets.js";
import { ToolGate } from "./control/tool-gate.js";
import { checkOptions, type RegistryOptions } from "./options.js";
import { type SessionOptions, sessionTools } from "./session-tools.js";
import { openSources } from "./sources.js";
import {
  type CallerType,
  type RegisteredTool,
  ToolError,
  type ToolLimits,
  type ToolOutput,
  type ToolSource,
} from "./tool.js";
import { isAbout } from "./tool-search.js";
import { sizeOf } from "./value-size.js";

const MOST_TOOLS = 2_000;
const LONGEST_ERROR = 4_000;
/** A server may have to be fetched first. */
const LONGEST_LOAD_MS = 200_000;

export interface CallOptions {
  readonly caller?: CallerType | undefined;
  readonly chain?: ChainPlace | undefined;
  readonly signal?: AbortSignal | undefined;
  /** In a private session no tool may reach the network. */
  readonly isPrivate?: boolean | undefined;
  readonly onProgress?: ((text: string) => void) | undefined;
  /** Told of this call when it ends, as the log is. */
  readonly onInvocation?: InvocationListener | undefined;
}

interface Entry {
  /** `name`, or `group.name`. */
  readonly name: string;
  readonly tool: RegisteredTool;
  readonly source: ToolSource;
  readonly check: ArgumentCheck;
  readonly gate: ToolGate;
}

/** The tools of an agent, of a run or of a server, and the control over their calls. */
export class ToolRegistry implements AsyncDisposable {
  readonly log = new InvocationLog();
  readonly approvals: Approvals;
  readonly #sources: readonly ToolSource[];
  readonly #policies: readonly ToolPolicy[];
  readonly #secrets: Secrets;
  readonly #limits: ToolLimits | undefined;
  readonly #entries = new Map<string, Entry>();
  #isClosed = false;

  private constructor(sources: readonly ToolSource[], options: RegistryOptions) {
    this.#sources = sources;
    this.#policies = readPolicies(options.policies);
    this.#secrets = new Secrets(options.secrets);
    this.#limits = options.limits;
    this.approvals = new Approvals(options.onApproval);
  }

  /** Reads files and functions at once; servers are started when one of their tools is looked at. */
  static async open(options: RegistryOptions = {}): Promise<ToolRegistry> {
    const sources = await openSources(checkOptions(options));
    try {
      const registry = new ToolRegistry(sources, options);
      await registry.tools();
      return registry;
    } catch (error) {
      await disposeAll(sources);
      throw error;
    }
  }

  /** The names under which Python finds further tools: `tools.<group>`. */
  get groups(): readonly string[] {
    return this.#sources.flatMap(({ group }) => (group === undefined ? [] : [group]));
  }

  /** The tools of a group that the policies allow, or those without one; by the name to call them with. */
  async tools(group?: string, signal?: AbortSignal): Promise<ReadonlyMap<string, RegisteredTool>> {
    const sources = this.#sources.filter((source) => source.group === group);
    if (sources.length === 0 && group !== undefined) throw this.#unknown(group);
    const entries = await Promise.all(sources.map((source) => this.#load(source, signal)));
    return new Map(
      entries.flat().flatMap(({ name, tool }) => {
        const refusal = refusalOf(this.#policies, name, tool, "cell");
        return refusal === undefined ? [[name, tool] as const] : [];
      }),
    );
  }

  /** Those of all groups whose name matches a pattern with `*`, or that are about a word. */
  async search(
    pattern: string,
    signal?: AbortSignal,
  ): Promise<readonly { readonly name: string; readonly tool: RegisteredTool }[]> {
    const groups = await Promise.all(
      [undefined, ...this.groups].map((group) => this.tools(group, signal)),
    );
    return groups
      .flatMap((tools) => [...tools])
      .filter(([name, tool]) => isAbout(pattern, name, tool))
      .map(([name, tool]) => ({ name, tool }));
  }

  /** Calls a tool; fails with a `ToolError` only. */
  async call(name: string, given: unknown, options: CallOptions = {}): Promise<ToolOutput> {
    const { caller = "host", chain } = options;
    const startedAt = new Date();
    const began = performance.now();
    const note = (outcome: "ok" | ToolError["code"], error?: string) => {
      const invocation: Invocation = {
        tool: name,
        arguments: this.#secrets.redact(shortened(given)),
        callerType: caller,
        chainId: chain?.id,
        chainIndex: chain?.index,
        startedAt,
        elapsedMs: performance.now() - began,
        outcome,
        error,
      };
      this.log.add(invocation, options.onInvocation);
    };
    try {
      const output = await this.#invoke(name, given, caller, options);
      if (caller === "host" && output.inSession !== undefined) {
        throw new ToolError(
          "UNAVAILABLE",
          `${name} works on the files and processes of a session`,
          {
            isRetryable: false,
            remedy: "call it from Python in an AgentRepl",
          },
        );
      }
      note("ok");
      return output;
    } catch (error) {
      const failure = this.#failureOf(name, error);
      note(failure.code, failure.message);
      throw failure;
    }
  }

  /** Asks whoever approves; used by tools, and by functions of a session that ask. */
  async approve(
    name: string,
    risk: Risk,
    given: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<ApprovalAnswer & { approved: true }> {
    const shown = this.#secrets.redact(given) as Readonly<Record<string, unknown>>;
    const answer = await this.approvals.ask({ name, risk, arguments: shown }, signal);
    if (answer.approved) return answer;
    const reason = answer.reason ?? "the answer was no";
    throw new ToolError("NOT_APPROVED", `${name} was not approved: ${reason}`);
  }

  /** What a sandbox is given as its `tools`. */
  sessionTools(options: SessionOptions = {}): HostTools {
    return sessionTools(this, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await disposeAll(this.#sources);
  }

  async #invoke(
    name: string,
    given: unknown,
    caller: CallerType,
    { isPrivate = false, signal = new AbortController().signal, onProgress }: CallOptions,
  ): Promise<ToolOutput> {
    const entry = await this.#find(name, signal);
    const { tool, gate } = entry;
    this.#permit(entry, caller, isPrivate);
    let asked = entry.check.read(given);
    const risk = await riskOf(tool, asked);
    if (risk !== undefined) {
      const { arguments: edited } = await this.approve(name, risk, asked, signal);
      if (edited !== undefined) asked = entry.check.read(edited);
    }
    const placed = this.#secrets.place(asked, name);
    const { value, displays, inSession } = await gate.run(signal, (own) =>
      tool.run({
        arguments: placed,
        signal: own,
        onProgress: onProgress && ((text) => onProgress(this.#secrets.redactText(text))),
      }),
    );
    if (inSession !== undefined && this.#secrets.isNamedIn(asked)) {
      throw new ToolError("NOT_PERMITTED", `${name} works in the session, where no secret may go`);
    }
    const size = sizeOf(value, gate.maxResultBytes) + sizeOf(displays, gate.maxResultBytes);
    if (size > gate.maxResultBytes) {
      const most = Math.round(gate.maxResultBytes / 1_000_000);
      throw new ToolError("TOO_LARGE", `${name} gave more than ${most} MB`, {
        remedy: "ask for less, or for a part",
      });
    }
    return {
      value: this.#secrets.redact(value),
      displays: displays?.map((display) => this.#secrets.redactDisplay(display)),
      inSession,
    };
  }

  #permit({ name, tool }: Entry, caller: CallerType, isPrivate: boolean): void {
    const isReachable = !(isPrivate && tool.permissions.includes("network"));
    if (!isReachable) {
      throw new ToolError("NOT_PERMITTED", `${name} reaches the network, and this is private`);
    }
    const { allowedCallers } = tool;
    // What may be part of a chain may be called alone too; what only reads may be part of one.
    const isCallable =
      caller === "host" ||
      allowedCallers.includes(caller) ||
      (caller === "cell" && allowedCallers.includes("chain")) ||
      (caller === "chain" && tool.isReadOnly && allowedCallers.includes("cell"));
    if (!isCallable) {
      const callers = allowedCallers.join(", ");
      throw new ToolError(
        "NOT_PERMITTED",
        `${name} cannot be called by a ${caller}, only by: ${callers}`,
      );
    }
    const refusal = refusalOf(this.#policies, name, tool, caller);
    if (refusal !== undefined) {
      throw new ToolError("NOT_PERMITTED", `${name} cannot be called: ${refusal}`);
    }
  }

  async #find(name: string, signal: AbortSignal): Promise<Entry> {
    if (this.#isClosed) {
      throw new ToolError("UNAVAILABLE", "the registry was closed", { isRetryable: false });
    }
    if (typeof name !== "string") throw this.#unknown(String(name));
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    const at = name.indexOf(".");
    const group = at < 0 ? undefined : name.slice(0, at);
    const sources = this.#sources.filter((source) => source.group === group);
    for (const source of sources) await this.#load(source, signal);
    const entry = this.#entries.get(name);
    if (entry === undefined) throw this.#unknown(name);
    return entry;
  }

  async #load(source: ToolSource, signal?: AbortSignal): Promise<readonly Entry[]> {
    const { group } = source;
    const late = AbortSignal.timeout(LONGEST_LOAD_MS);
    const signals = signal === undefined ? [late] : [signal, late];
    const tools = await unlessAborted(source.tools(signal), AbortSignal.any(signals), () =>
      late.aborted && signal?.aborted !== true
        ? new ToolError("TIMEOUT", `${group ?? "a source"} did not list its tools in time`)
        : new ToolError("CANCELLED", "nobody waits for the list of tools any more"),
    );
    checkToolNames(
      tools.map((tool) => tool.name),
      group ?? "a source of tools",
    );
    return tools.map((tool) => {
      const name = group === undefined ? tool.name : `${group}.${tool.name}`;
      const known = this.#entries.get(name);
      // A server may list its tools anew; their limits go on counting.
      if (known?.tool === tool) return known;
      if ((known !== undefined && known.source !== source) || this.groups.includes(name)) {
        throw new CellarError("INVALID_CONFIG", `two sources have tools called ${name}`, {
          remedy: "Rename one of them, or leave it out.",
        });
      }
      if (known === undefined && this.#entries.size >= MOST_TOOLS) {
        throw new ToolError("TOO_LARGE", `there are more than ${MOST_TOOLS} tools`);
      }
      const entry: Entry = {
        name,
        tool,
        source,
        check: new ArgumentCheck(name, tool.parameters),
        gate: known?.gate ?? new ToolGate(name, this.#limits, tool.limits),
      };
      this.#entries.set(name, entry);
      return entry;
    });
  }

  #unknown(name: string): ToolError {
    const shown = JSON.stringify(String(name).slice(0, 100));
    const known = [...this.#entries.keys(), ...this.groups];
    return new ToolError("UNKNOWN_TOOL", `there is no tool ${shown}${suggestion(name, known)}`, {
      remedy: "list_tools() shows which there are",
    });
  }

  #failureOf(name: string, error: unknown): ToolError {
    const short = (text: string) =>
      detached(this.#secrets.redactText(text).slice(0, LONGEST_ERROR));
    if (error instanceof ToolError) {
      const { code, message, isRetryable, remedy, cause } = error;
      return new ToolError(code, short(message), {
        isRetryable,
        remedy: remedy && short(remedy),
        cause,
      });
    }
    const told = `${name} failed: ${describeError(error)}`;
    const remedy = error instanceof CellarError ? error.remedy : undefined;
    return new ToolError("FAILED", short(told), { remedy: remedy && short(remedy), cause: error });
  }
}

async function riskOf(
  tool: RegisteredTool,
  given: Readonly<Record<string, unknown>>,
): Promise<Risk | undefined> {
  if (tool.isDestructive) return "destructive";
  return (await tool.asks?.(given)) === true ? "as-declared" : undefined;
}

async function disposeAll(sources: readonly ToolSource[]): Promise<void> {
  await Promise.allSettled(sources.map((source) => source[Symbol.asyncDispose]()));
}
