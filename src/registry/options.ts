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
