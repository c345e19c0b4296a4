import { z } from "zod";
import type { CodeExecution, REPLConfig } from "../backends/backend.js";
import type { HostTools } from "../backends/host-tools/host-tool.js";
import { isToolProvider, type ToolProvider } from "../backends/host-tools/host-tool.js";
import { RelayedTool } from "../backends/host-tools/prepared-tools.js";
import { openSandbox } from "../backends/select.js";
import { Semaphore } from "../concurrency/semaphore.js";
import { describeError, errorLine } from "../errors.js";
import { Approvals, type Approver } from "../registry/control/approvals.js";
import type { InvocationListener } from "../registry/control/invocation-log.js";
import { ToolRegistry } from "../registry/registry.js";
import { ToolError } from "../registry/tool.js";

const SHOWN_CHARACTERS = 8_000;
const MOST_SECONDS = 120;
/** Each has the memory and the processor time of a whole session. */
const MOST_FRESH = 4;
const LONGEST_TEXT = 1_000_000;

/** Hands a task to another agent; `to` is the name of a role. */
export type Delegate = (
  task: string,
  options: { readonly to: string | undefined; readonly signal: AbortSignal },
) => Promise<string>;

/** Says which role or model suits a task: a text, or a plain value. */
export type Router = (task: string, options: { readonly signal: AbortSignal }) => unknown;

export interface HostFunctionOptions {
  readonly config: REPLConfig;
  readonly tools: HostTools | ToolProvider | undefined;
  readonly isPrivate: () => boolean;
  readonly onApproval: Approver | undefined;
  readonly onDelegate: Delegate | undefined;
  readonly router: Router | undefined;
  readonly onInvocation?: InvocationListener | undefined;
}

const freshInput = z.strictObject({
  code: z.string().max(LONGEST_TEXT),
  stdin: z.string().max(LONGEST_TEXT),
  seconds: z.number().positive().max(MOST_SECONDS),
});
const approvalInput = z.strictObject({ reason: z.string().max(LONGEST_TEXT) });
const delegateInput = z.strictObject({
  task: z.string().max(LONGEST_TEXT),
  to: z.string().max(200).nullable(),
});
const routeInput = z.strictObject({ task: z.string().max(LONGEST_TEXT) });

/** What the host does for an agent's functions, with its tools: all that its sandbox is given as `tools`. */
export function agentHostTools(options: HostFunctionOptions): HostTools {
  const { config, tools, onDelegate, router } = options;
  const delegate = onDelegate ?? delegateByQuery(config);
  const fresh = new Semaphore(MOST_FRESH);
  const approvals = new Approvals(options.onApproval);
  return {
    ...sessionToolsOf(options),
    run_fresh_python: answering("run_fresh_python", freshInput, async (input, signal) => {
      using _turn = await fresh.acquire(signal);
      return await runFresh(config, input, signal);
    }),
    ask_approval: answering("ask_approval", approvalInput, ({ reason }, signal) =>
      approve(tools, approvals, reason, signal),
    ),
    ...(delegate !== undefined && {
      delegate_task: answering("delegate_task", delegateInput, ({ task, to }, signal) =>
        delegate(task, { to: to ?? undefined, signal }),
      ),
    }),
    ...(router !== undefined && {
      advise_route: answering("advise_route", routeInput, async ({ task }, signal) =>
        router(task, { signal }),
      ),
    }),
  };
}

function sessionToolsOf({ tools, isPrivate, onInvocation }: HostFunctionOptions): HostTools {
  if (tools === undefined) return {};
  if (tools instanceof ToolRegistry) {
    return tools.sessionTools({ isPrivate, onInvocation });
  }
  return isToolProvider(tools) ? tools.sessionTools({ isPrivate }) : tools;
}

function answering<T>(
  name: string,
  schema: z.ZodType<T>,
  work: (input: T, signal: AbortSignal) => Promise<unknown>,
): RelayedTool {
  const spec = { name, doc: "", parameters: [], open: true };
  return new RelayedTool(spec, async (input, { signal }) => {
    try {
      return { value: await work(schema.parse(input), signal) };
    } catch (error) {
      const { code, message, isRetryable, remedy } =
        error instanceof ToolError ? error : new ToolError("FAILED", describeError(error));
      return { error: { code, message, retryable: isRetryable, remedy: remedy ?? null } };
    }
  });
}

/** In a session of its own from the pool, with the settings of the agent's. */
async function runFresh(
  config: REPLConfig,
  { code, stdin, seconds }: z.infer<typeof freshInput>,
  signal: AbortSignal,
) {
  const { agent: _agent, tools: _tools, onLLMQuery: _llm, onRLMQuery: _rlm, ...rest } = config;
  const sandbox = await openSandbox({ ...rest, policy: "off", checkpoints: "off" }, {});
  try {
    const run = await sandbox.execute(withInput(code, stdin), { timeout: seconds * 1000, signal });
    return { text: textOf(run), error: errorOf(run) };
  } finally {
    await sandbox.destroy();
  }
}

/** A cell has no input of its own, and gets a new stdin each time; a JSON text is one of Python's too. */
function withInput(code: string, stdin: string): string {
  if (stdin === "") return code;
  // Python wants these first.
  const last = [...code.matchAll(/^from __future__ import [^\n]*(?:\n|$)/gm)].at(-1);
  const begin = last === undefined ? 0 : last.index + last[0].length;
  const given = `import io as _io, sys as _sys; _sys.stdin = _io.StringIO(${JSON.stringify(stdin)})\n`;
  return `${code.slice(0, begin)}${given}${code.slice(begin)}`;
}

function textOf(run: CodeExecution): string {
  const value = run.result?.["text/plain"] ?? "";
  const written = [run.stdout, value, run.stderr, errorOf(run) ?? ""];
  const text = written.filter((part) => part !== "").join(run.stdout.endsWith("\n") ? "" : "\n");
  if (text.length <= SHOWN_CHARACTERS) return text;
  const half = SHOWN_CHARACTERS / 2;
  const left = text.length - SHOWN_CHARACTERS;
  return `${text.slice(0, half)}\n[… ${left} characters …]\n${text.slice(-half)}`;
}

function errorOf({ error, status }: CodeExecution): string | null {
  if (error !== null) return errorLine(error.type, error.message);
  return status === "ok" ? null : `the code ended with ${status}`;
}

async function approve(
  tools: HostFunctionOptions["tools"],
  approvals: Approvals,
  reason: string,
  signal: AbortSignal,
): Promise<string> {
  if (tools instanceof ToolRegistry) {
    await tools.approve("escalate", "escalation", { reason }, signal);
    return "approved";
  }
  const asked = { name: "escalate", risk: "escalation", arguments: { reason } } as const;
  const answer = await approvals.ask(asked, signal);
  if (answer.approved) return "approved";
  throw new ToolError(
    "NOT_APPROVED",
    `escalate was not approved: ${answer.reason ?? "the answer was no"}`,
  );
}

/** A loop below, where there is one. */
function delegateByQuery({ onRLMQuery }: REPLConfig): Delegate | undefined {
  if (onRLMQuery === undefined) return undefined;
  return async (task, { to, signal }) =>
    onRLMQuery(task, undefined, { signal, ...(to !== undefined && { model: to }) });
}
