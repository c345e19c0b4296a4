import { z } from "zod";
import type { REPLConfig } from "../backends/backend.js";
import { settingLayers } from "../config/environment.js";
import { checkNames, requireFunction, requireOptions } from "../config/kinds.js";
import { invalidOptions } from "../config/problems.js";
import { sandboxNotice } from "../config/setting-names.js";
import { agentSettingsSchema } from "../config.js";
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
});

const OWN_NAMES = ["context", "config", "summarise", "redact", "embedder"];

/** Settings of an agent's REPL besides those of its sandbox. */
export interface AgentOptions extends z.input<typeof optionsSchema> {
  /** Updates the summary of long outputs; without it, their beginning and end are shown. */
  readonly summarise?: SummaryWorker | undefined;
  /** False: secrets are not redacted. */
  readonly redact?: boolean | RedactionOptions | undefined;
  /** Finds results about the same subject. Default: `LexicalEmbedder`. */
  readonly embedder?: Embedder | undefined;
}

export interface AgentPlan extends z.output<typeof optionsSchema> {
  readonly config: REPLConfig;
  readonly summarise: SummaryWorker | undefined;
  readonly redact: boolean | RedactionOptions;
  readonly embedder: Embedder | undefined;
}

/** The settings of the REPL and of its sandbox, checked and with defaults. */
export function planAgent(
  { summarise, redact = true, embedder, ...settings }: AgentOptions,
  config: REPLConfig,
  hasContext: boolean,
): AgentPlan {
  requireOptions("config", config);
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
  const { maxGrepResults, requireExplorationBeforeFinal, minExplorationCalls } = parsed.data;
  return {
    ...parsed.data,
    summarise,
    redact,
    embedder,
    config: {
      ...unlessSet({
        policy: "ast",
        sanitise: true,
        timeout: hasContext ? DOCUMENT_TIMEOUT_MS : GENERAL_TIMEOUT_MS,
        maxOutputLength: LONGEST_OUTPUT,
      }),
      ...given(config),
      agent: { maxGrepResults, requireExplorationBeforeFinal, minExplorationCalls },
    },
  };
}

export function withPolicy(policy: "off" | "ast" | "restricted", config: REPLConfig): REPLConfig {
  requireOptions("config", config);
  return { ...unlessSet({ policy }), ...given(config) };
}

/** Without options that are undefined, which mean the default. */
function given(config: REPLConfig): REPLConfig {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
}

/** An agent's defaults, without those that a settings file or the environment sets. */
function unlessSet(defaults: REPLConfig): REPLConfig {
  const layers = settingLayers();
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => !(name in layers)));
}
