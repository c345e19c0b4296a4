import { z } from "zod";
import { LONGEST_TIMEOUT_MS } from "../config/environment.js";
import { requireOptions } from "../config/kinds.js";
import { invalidOptions } from "../config/problems.js";
import type { WebFetcherOptions } from "../web/web-fetcher.js";
import type { SearchProvider } from "../web/web-search.js";
import type { Approver } from "./control/approvals.js";
import type { ToolPolicy } from "./control/policy.js";
import type { Secret } from "./control/secrets.js";
import type { FunctionTools } from "./function-source.js";
import type { OpenApiOptions } from "./openapi/source.js";
import type { ToolLimits, ToolSource } from "./tool.js";

export interface WebOptions extends WebFetcherOptions {
  readonly provider?: SearchProvider | undefined;
}

export interface RegistryOptions {
  /** Functions of the host. */
  readonly tools?: FunctionTools | undefined;
  /** Declaration files, YAML or JSON. */
  readonly files?: readonly string[] | undefined;
  /** The tools that come with Cellar: all, or these. */
  readonly catalogue?: boolean | readonly string[] | undefined;
  /** The `mcpServers` block of an MCP client, or the whole of its settings. */
  readonly mcpServers?: unknown;
  readonly openApi?: readonly OpenApiOptions[] | undefined;
  /** `web_fetch`, and `web_search` where there is a provider; true: all public hosts. */
  readonly web?: boolean | WebOptions | undefined;
  /** Sources of your own. */
  readonly sources?: readonly ToolSource[] | undefined;
  /** Each narrows the others: what one denies, none allows. */
  readonly policies?: readonly ToolPolicy[] | undefined;
  /** Asked before a destructive tool runs. Without it, such calls are refused. */
  readonly onApproval?: Approver | undefined;
  /** Values that cells name as `{secret:NAME}`; only the host sees them, and the tools that may. */
  readonly secrets?: Readonly<Record<string, Secret>> | undefined;
  /** For each tool that does not set its own. */
  readonly limits?: ToolLimits | undefined;
}

const count = z.int().positive();

export const limitsSchema = z.strictObject({
  timeoutMs: count.max(LONGEST_TIMEOUT_MS).optional(),
  concurrency: count.optional(),
  callsPerMinute: count.optional(),
  maxResultBytes: count.optional(),
} satisfies Record<keyof ToolLimits, z.ZodType>);

const aFunction = z.custom<object>((value) => typeof value === "function", "a function");
const anObject = z.looseObject({});

const webSchema = z.strictObject({
  allow: z.array(z.string()).optional(),
  timeoutMs: count.max(LONGEST_TIMEOUT_MS).optional(),
  maxBytes: count.optional(),
  cacheSeconds: z.number().nonnegative().optional(),
  cacheBytes: z.int().nonnegative().optional(),
  ca: z.string().optional(),
  resolve: aFunction.optional(),
  connect: aFunction.optional(),
  provider: z.union([aFunction, anObject]).optional(),
} satisfies Record<keyof WebOptions, z.ZodType>);

/** Only the outside: each source checks what it is given. */
const optionsSchema = z.strictObject({
  tools: anObject.optional(),
  files: z.array(z.string().min(1)).optional(),
  catalogue: z.union([z.boolean(), z.array(z.string())]).optional(),
  mcpServers: z.unknown().optional(),
  openApi: z.array(z.looseObject({ name: z.string(), document: z.unknown() })).optional(),
  web: z.union([z.boolean(), webSchema]).optional(),
  sources: z.array(z.looseObject({ tools: aFunction })).optional(),
  policies: z.unknown().optional(),
  onApproval: aFunction.optional(),
  secrets: anObject.optional(),
  limits: limitsSchema.optional(),
} satisfies Record<keyof RegistryOptions, z.ZodType>);

/** Refuses what is misspelt: a policy under another name would silently allow everything. */
export function checkOptions(given: RegistryOptions): RegistryOptions {
  requireOptions("the options of ToolRegistry.open", given, "{ tools: { … } }");
  const parsed = optionsSchema.safeParse(given);
  if (parsed.success) return given;
  throw invalidOptions("invalid options of ToolRegistry.open", parsed.error.issues, {
    input: given,
    known: [
      ...Object.keys(optionsSchema.shape),
      ...Object.keys(webSchema.shape).map((name) => `web.${name}`),
      ...Object.keys(limitsSchema.shape).map((name) => `limits.${name}`),
    ],
  });
}
