import { z } from "zod";
import type { REPLConfig } from "../backends/backend.js";
import type { HostTools, ToolProvider } from "../backends/host-tools/host-tool.js";
import { requireTools } from "../backends/host-tools/prepared-tools.js";
import { chainEnvironment, settingLayers } from "../config/environment.js";
import { checkNames, requireFunction, requireOptions } from "../config/kinds.js";
import { invalidOptions } from "../config/problems.js";
import { sandboxNotice } from "../config/setting-names.js";
import { agentSettingsSchema } from "../config.js";
import { chainModeSchema } from "../protocol/agent/chain-report.js";
import type { Approver } from "../registry/control/approvals.js";
import type { InvocationListener } from "../registry/control/invocation-log.js";
import { agentHostTools, type Delegate, type Router } from "./host-functions.js";
import type { SummaryWorker } from "./observation/summary.js";
import type { RedactionOptions } from "./redaction/redactor.js";
import type { Embedder } from "./research/embedder.js";

/** With a context, turns take longer. */
const DOCUMENT_TIMEOUT_MS = 600_000;
const GENERAL_TIMEOUT_MS = 120_000;

/** Longer outputs are cut even in their file. */
const LONGEST_OUTPUT = 10_000_000;

const optionsSchema = z.strictObject({
  ...agentSettingsSchema.shape,
  outputCap: z.int().min(200).max(1_000_000).default(8192),
  maxOutputPreview: z.int().min(960).max(100_000).default(1500),
  spillDir: z.string().min(1).optional(),
  session: z.string().min(1).max(100).optional(),
  useToonEncoding: z.boolean().default(true),
  useSemantic: z.boolean().default(true),
  /** What a call follows on the map of calls: the one before it, or only what its arguments used. */
  parents: z.enum(["sequence", "evidence"]).default("sequence"),
  /** Who the agent is; `my_role()` tells it. */
  role: z.string().min(1).max(200).optional(),
  /** Whether turns that consist of tool calls are planned, and run side by side where they can. */
  structured: z.boolean().default(false),
  /** In structured turns: whether calls that only read run at once. */
  parallelTools: z.boolean().default(true),
  /** What a structured turn with several tool calls may do. Default: `ORCHESTRATOR_TOOL_CHAIN_MODE`, else `seq`. */
  chainMode: chainModeSchema.optional(),
  /** Whether some tools with effects may run at once. Default: `ORCHESTRATOR_TOOL_CHAIN_PARALLEL_MUTATIONS`. */
  parallelMutations: z.boolean().optional(),
  /** Whether no tool may reach the network. */
  private: z.boolean().default(false),
});

const OWN_NAMES = [
  "context",
  "config",
  "summarise",
  "redact",
  "embedder",
  "tools",
  "onApproval",
  "onDelegate",
  "router",
  "onInvocation",
];

/** Settings of an agent's REPL besides those of its sandbox. */
export interface AgentOptions extends z.input<typeof optionsSchema> {
  /** Updates the summary of long outputs; without it, their beginning and end are shown. */
  readonly summarise?: SummaryWorker | undefined;
  /** False: secrets are not redacted. */
  readonly redact?: boolean | RedactionOptions | undefined;
  /** Finds results about the same subject. Default: `LexicalEmbedder`. */
  readonly embedder?: Embedder | undefined;
  /** What Python may call: functions, or a `ToolRegistry`. */
  readonly tools?: HostTools | ToolProvider | undefined;
  /** Answers `escalate()`, where `tools` is no registry with an approver of its own. */
  readonly onApproval?: Approver | undefined;
  /** Answers `delegate()`. Default: `onRLMQuery`. */
  readonly onDelegate?: Delegate | undefined;
  /** Answers `route_advice()`. */
  readonly router?: Router | undefined;
  /** Told of each call of a tool of the registry in `tools` that this agent made, when it ends. */
  readonly onInvocation?: InvocationListener | undefined;
}

export interface AgentPlan extends z.output<typeof optionsSchema> {
  readonly config: REPLConfig;
  readonly summarise: SummaryWorker | undefined;
  readonly redact: boolean | RedactionOptions;
  readonly embedder: Embedder | undefined;
  /** Set for good once something private is there. */
  readonly privacy: { isPrivate: boolean };
}

/** The settings of the REPL and of its sandbox, checked and with defaults. */
export function planAgent(given: AgentOptions, config: REPLConfig, hasContext: boolean): AgentPlan {
  const {
    summarise,
    redact = true,
    embedder,
    tools,
    onApproval,
    onDelegate,
    router,
    onInvocation,
    ...settings
  } = given;
  requireOptions("config", config);
  for (const [name, callback] of Object.entries({ onApproval, onDelegate, router, onInvocation })) {
    if (callback !== undefined) requireFunction(name, callback);
  }
  if (typeof redact !== "boolean") {
    checkNames("redact", requireOptions("redact", redact), { except: true });
  }
  if (embedder !== undefined) requireFunction("embedder.embed", embedder?.embed);
  if (summarise !== undefined) requireFunction("summarise", summarise);
  const parsed = optionsSchema.safeParse(settings);
  if (!parsed.success) {
    throw invalidOptions("invalid options of AgentRepl.open", parsed.error.issues, {
      input: settings,
      known: [...OWN_NAMES, ...Object.keys(optionsSchema.shape)],
      notice: sandboxNotice,
    });
  }
  const { maxGrepResults, requireExplorationBeforeFinal, minExplorationCalls, role } = parsed.data;
  const sandbox: REPLConfig = {
    ...unlessSet({
      policy: "ast",
      sanitise: true,
      timeout: hasContext ? DOCUMENT_TIMEOUT_MS : GENERAL_TIMEOUT_MS,
      maxOutputLength: LONGEST_OUTPUT,
    }),
    ...present(config),
  };
  const offered = tools ?? sandbox.tools;
  if (offered !== undefined) requireTools(offered);
  const privacy = { isPrivate: parsed.data.private || sandbox.private === true };
  return {
    ...parsed.data,
    summarise,
    redact,
    embedder,
    privacy,
    config: {
      ...sandbox,
      private: privacy.isPrivate,
      tools: agentHostTools({
        config: sandbox,
        tools: offered,
        isPrivate: () => privacy.isPrivate,
        onApproval,
        onDelegate,
        router,
        onInvocation,
      }),
      agent: {
        maxGrepResults,
        requireExplorationBeforeFinal,
        minExplorationCalls,
        ...(role !== undefined && { role }),
        ...(parsed.data.structured && { chain: chainOf(parsed.data) }),
      },
    },
  };
}

function chainOf(options: z.output<typeof optionsSchema>) {
  const { mode, parallelMutations } = chainEnvironment();
  return {
    mode: options.chainMode ?? chainModeSchema.catch("seq").parse(mode),
    parallelTools: options.parallelTools,
    parallelMutations: options.parallelMutations ?? parallelMutations,
  };
}

export function withPolicy(policy: "off" | "ast" | "restricted", config: REPLConfig): REPLConfig {
  requireOptions("config", config);
  return { ...unlessSet({ policy }), ...present(config) };
}

/** Without options that are undefined, which mean the default. */
function present(config: REPLConfig): REPLConfig {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
}

/** An agent's defaults, without those that a settings file or the environment sets. */
function unlessSet(defaults: REPLConfig): REPLConfig {
  const layers = settingLayers();
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => !(name in layers)));
}
