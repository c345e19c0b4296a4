import { CALLER_TYPES, type ToolDeclaration } from "../tool.js";
import type { Parameter, ToolFields } from "./fields.js";

/** What the fields of a file say, in the form that all sources of tools have. */
export function declarationOf(
  name: string,
  fields: ToolFields,
  parameters: ReadonlyMap<string, Parameter>,
): ToolDeclaration {
  const { side_effects: declared, permissions, destructive } = fields;
  const isReadOnly = !destructive && isHarmless(declared, permissions);
  return {
    name,
    description: fields.description,
    category: fields.category,
    parameters: schemaOf(parameters),
    returns: typeof fields.returns === "object" ? fields.returns.description : fields.returns,
    isTable: fields.table,
    permissions,
    allowedCallers:
      fields.allowed_callers ?? CALLER_TYPES.filter((caller) => caller !== "chain" || isReadOnly),
    isReadOnly,
    isDestructive: destructive,
    effects: Array.isArray(declared)
      ? { writes: declared }
      : typeof declared === "object"
        ? declared
        : undefined,
    examples: fields.examples.map((one) => (typeof one === "string" ? one : JSON.stringify(one))),
    limits: fields.timeout === undefined ? undefined : { timeoutMs: fields.timeout },
  };
}

/** What nothing is said of changes nothing only if it computes and no more. */
function isHarmless(
  declared: ToolFields["side_effects"],
  permissions: ToolFields["permissions"],
): boolean {
  if (declared === undefined) return permissions.every((permission) => permission === "compute");
  if (typeof declared === "boolean") return !declared;
  return (Array.isArray(declared) ? declared : (declared.writes ?? [])).length === 0;
}

function schemaOf(parameters: ReadonlyMap<string, Parameter>): ToolDeclaration["parameters"] {
  const properties = Object.fromEntries(
    [...parameters].map(([name, { required: _, ...schema }]) => [
      name,
      Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined)),
    ]),
  );
  const required = [...parameters].filter(([, { required }]) => required).map(([name]) => name);
  return { type: "object", properties, required, additionalProperties: false };
}
