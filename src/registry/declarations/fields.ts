import { z } from "zod";
import { DURATION_EXAMPLES, readDuration } from "../../config/units.js";
import { CALLER_TYPES, PERMISSIONS } from "../tool.js";

export const TYPES = ["string", "integer", "number", "boolean", "array", "object"] as const;
export type TypeName = (typeof TYPES)[number];

const LONGEST_TEXT = 20_000;
const LONGEST_TIMEOUT_MS = 3_600_000;
const text = z.string().max(LONGEST_TEXT);
const typeName = z.enum(TYPES);
const typeNames = z.union([typeName, z.array(typeName).min(1).max(TYPES.length)]);

const durationSchema = z.union([z.number(), z.string()]).transform((value, context) => {
  const read = readDuration(String(value), "s")?.value;
  if (read !== undefined && read >= 1 && read <= LONGEST_TIMEOUT_MS) return Math.round(read);
  context.addIssue({ code: "custom", message: `seconds, or a text such as ${DURATION_EXAMPLES}` });
  return z.NEVER;
});

export const itemsSchema = z.strictObject({
  type: typeNames.optional(),
  enum: z.array(z.unknown()).min(1).max(1000).optional(),
  description: text.optional(),
});

export const parameterSchema = z.strictObject({
  type: typeNames,
  required: z.boolean().default(false),
  default: z.unknown().optional(),
  description: text.optional(),
  enum: z.array(z.unknown()).min(1).max(1000).optional(),
  items: itemsSchema.optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
});
export type Parameter = z.infer<typeof parameterSchema>;

export const IMPLEMENTATION_FIELDS = {
  python: z.strictObject({
    type: z.literal("python"),
    file: z.string().regex(/^\w[\w.-]*\.py$/, "the name of a .py file beside this one"),
    function: z.string().regex(/^[A-Za-z]\w*$/, "the name of a function"),
  }),
  builtin: z.strictObject({
    type: z.literal("builtin"),
    name: z.string().regex(/^[A-Za-z]\w*$/, "the name of a function"),
  }),
} as const;
export type Implementation =
  | z.infer<(typeof IMPLEMENTATION_FIELDS)["python"]>
  | z.infer<(typeof IMPLEMENTATION_FIELDS)["builtin"]>;

const effectsSchema = z.array(z.string().min(1).max(300)).max(20);

/** The fields of a tool; `parameters` and `implementation` are checked one by one, so that all problems are found. */
export const toolSchema = z.strictObject({
  category: text.optional(),
  description: text.min(1),
  parameters: z.record(z.string(), z.unknown()).default({}),
  returns: z
    .union([text, z.strictObject({ type: typeNames.optional(), description: text })])
    .optional(),
  implementation: z.record(z.string(), z.unknown()),
  permissions: z.array(z.enum(PERMISSIONS)).max(PERMISSIONS.length).default(["compute"]),
  allowed_callers: z.array(z.enum(CALLER_TYPES)).min(1).max(CALLER_TYPES.length).optional(),
  side_effects: z
    .union([
      z.boolean(),
      effectsSchema,
      z.strictObject({ reads: effectsSchema.optional(), writes: effectsSchema.optional() }),
    ])
    .optional(),
  destructive: z.boolean().default(false),
  examples: z
    .array(z.union([text, z.record(z.string(), z.unknown())]))
    .max(50)
    .default([]),
  timeout: durationSchema.optional(),
  table: z.boolean().default(false),
});
export type ToolFields = z.infer<typeof toolSchema>;

/** Whether a value is of one of the types, as JSON Schema tells them. */
export function isOfType(value: unknown, types: TypeName | readonly TypeName[]): boolean {
  return [types].flat().some((type) => {
    switch (type) {
      case "integer":
        return Number.isInteger(value);
      case "array":
        return Array.isArray(value);
      case "object":
        return typeof value === "object" && value !== null && !Array.isArray(value);
      default:
        return typeof value === type;
    }
  });
}
