import { z } from "zod";
import { CellarError } from "../../errors.js";
import { CALLER_TYPES, type CallerType, PERMISSIONS, type ToolDeclaration } from "../tool.js";

const patterns = z.array(z.string().min(1).max(200)).max(1_000);

const ruleShape = {
  /** Only these; without it, all. */
  allow: patterns.optional(),
  /** Never these, whatever is allowed. */
  deny: patterns.optional(),
  /** Only tools that need nothing else. */
  permissions: z.array(z.enum(PERMISSIONS)).optional(),
};

const rulesSchema = z.strictObject(ruleShape);

export const policySchema = z.strictObject({
  ...ruleShape,
  /** Names for lists of patterns, used as `group:name`. */
  groups: z.record(z.string(), patterns).optional(),
  /** Rules for one kind of caller, on top of the others. */
  callers: z.partialRecord(z.enum(CALLER_TYPES), rulesSchema).optional(),
});

/** Which tools may be called. Of several policies each narrows the others; none can widen one. */
export type ToolPolicy = z.infer<typeof policySchema>;
type Rules = z.infer<typeof rulesSchema>;

export function readPolicies(given: unknown): readonly ToolPolicy[] {
  const parsed = z
    .array(policySchema)
    .max(100)
    .safeParse(given ?? []);
  if (parsed.success) {
    for (const policy of parsed.data) checkGroups(policy);
    return parsed.data;
  }
  throw new CellarError("INVALID_CONFIG", `invalid policies: ${z.prettifyError(parsed.error)}`, {
    remedy: "A policy has allow, deny, permissions, groups and callers; each is optional.",
  });
}

function checkGroups({ groups = {}, callers = {}, ...own }: ToolPolicy): void {
  // Groups in groups are not followed: a list can be read at one place.
  const nested = Object.values(groups)
    .flat()
    .find((pattern) => groupOf(pattern) !== undefined);
  if (nested !== undefined) {
    throw new CellarError("INVALID_CONFIG", `a group of a policy names ${nested}`, {
      remedy: "Write the patterns of that group instead: groups are not nested.",
    });
  }
  for (const { allow = [], deny = [] } of [own, ...Object.values(callers)]) {
    for (const pattern of [...allow, ...deny]) {
      const name = groupOf(pattern);
      if (name === undefined || Object.hasOwn(groups, name)) continue;
      const known = Object.keys(groups).join(", ") || "none";
      throw new CellarError("INVALID_CONFIG", `a policy names group:${name}, which it lacks`, {
        remedy: `Groups of this policy: ${known}.`,
      });
    }
  }
}

/** Why the policies refuse a tool; undefined if none does. */
export function refusalOf(
  policies: readonly ToolPolicy[],
  name: string,
  tool: Pick<ToolDeclaration, "permissions" | "category">,
  caller: CallerType,
): string | undefined {
  for (const { groups = {}, callers = {}, ...own } of policies) {
    // Only the session says that a call is part of a chain, so that may not widen what its cells can do.
    const kinds: readonly CallerType[] = caller === "chain" ? ["cell", "chain"] : [caller];
    for (const rules of [own, ...kinds.map((kind) => callers[kind] ?? {})]) {
      const reason = refusalBy(rules, groups, name, tool);
      if (reason !== undefined) return reason;
    }
  }
  return undefined;
}

function refusalBy(
  { allow, deny, permissions }: Rules,
  groups: Readonly<Record<string, readonly string[]>>,
  name: string,
  tool: Pick<ToolDeclaration, "permissions" | "category">,
): string | undefined {
  const matches = (pattern: string) => isMatch(pattern, groups, name, tool.category);
  if (deny?.some(matches)) return "a policy denies it";
  if (allow !== undefined && !allow.some(matches)) return "no policy allows it";
  const missing = tool.permissions.filter((one) => permissions?.includes(one) === false);
  return missing.length === 0 ? undefined : `it needs ${missing.join(" and ")}, not permitted here`;
}

function isMatch(
  pattern: string,
  groups: Readonly<Record<string, readonly string[]>>,
  name: string,
  category: string | undefined,
): boolean {
  const group = groupOf(pattern);
  if (group !== undefined) {
    return (groups[group] ?? []).some((one) => isMatch(one, {}, name, category));
  }
  if (pattern.startsWith("category:")) return pattern.slice("category:".length) === category;
  // A server's tool `read-file` is `read_file` here, and may be meant by either.
  return matchesName(pattern, name) || matchesName(pattern.replace(/[^\w.*]/g, "_"), name);
}

/** `*` stands for any characters. Without backtracking: each piece is looked for once. */
export function matchesName(pattern: string, name: string): boolean {
  const [first = "", ...pieces] = pattern.split("*");
  if (pieces.length === 0) return first === name;
  if (!name.startsWith(first)) return false;
  const last = pieces.pop() ?? "";
  let at = first.length;
  for (const piece of pieces) {
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

function groupOf(pattern: string): string | undefined {
  return pattern.startsWith("group:") ? pattern.slice("group:".length) : undefined;
}
