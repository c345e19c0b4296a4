import type { Approver } from "./control/approvals.js";
import type { ToolPolicy } from "./control/policy.js";
import type { FunctionTools } from "./function-source.js";
import type { ToolLimits, ToolSource } from "./tool.js";

export interface RegistryOptions {
  /** Functions of the host. */
  readonly tools?: FunctionTools | undefined;
  /** Sources of your own. */
  readonly sources?: readonly ToolSource[] | undefined;
  /** Each narrows the others: what one denies, none allows. */
  readonly policies?: readonly ToolPolicy[] | undefined;
  /** Asked before a destructive tool runs. Without it, such calls are refused. */
  readonly onApproval?: Approver | undefined;
  /** Values that cells name as `{secret:NAME}`; only the host and the tools see them. */
  readonly secrets?: Readonly<Record<string, string>> | undefined;
  /** For each tool that does not set its own. */
  readonly limits?: ToolLimits | undefined;
}
