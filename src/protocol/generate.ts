import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import {
  MAX_CHECKED_VALUES,
  MAX_DAEMON_FRAME_BYTES,
  MAX_FRAME_BYTES,
  MAX_JSON_DEPTH,
  MAX_JSON_VALUES,
  MAX_SOURCE_BYTES,
  PROTOCOL_VERSION,
} from "./bounds.js";
import { envelopeSchema, messages } from "./messages.js";

export const GENERATE_COMMAND = "npm run protocol";

const PYTHON_WIDTH = 96;

type Json = null | boolean | number | string | readonly Json[] | JsonObject;
interface JsonObject {
  readonly [key: string]: Json;
}

const CONSTANTS = {
  PROTOCOL_VERSION,
  MAX_FRAME_BYTES,
  MAX_DAEMON_FRAME_BYTES,
  MAX_SOURCE_BYTES,
  MAX_JSON_DEPTH,
  MAX_JSON_VALUES,
  MAX_CHECKED_VALUES,
};

/** Keywords that python/cellar_runner/schema.py understands; any other one must not go unseen. */
const KNOWN_KEYWORDS = new Set([
  "type",
  "properties",
  "required",
  "additionalProperties",
  "propertyNames",
  "maxProperties",
  "items",
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minimum",
  "exclusiveMinimum",
  "maximum",
  "enum",
  "const",
  "anyOf",
  "oneOf",
]);

/** Every generated file: its path from the repository's root, and its text. */
export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map([
    ["protocol/schema.json", schemaText()],
    ["python/cellar_runner/messages.py", pythonText()],
  ]);
}

function schemaText(): string {
  const document = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $comment: `Generated from src/protocol/messages.ts by "${GENERATE_COMMAND}"; not to be edited.`,
    title: "Cellar protocol",
    constants: Object.fromEntries(
      Object.entries(CONSTANTS).map(([name, value]) => [name.toLowerCase(), value]),
    ),
    envelope: schemaOf(envelopeSchema),
    messages: mapMessages(schemaOf),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function pythonText(): string {
  const reduced = (schema: z.ZodType) => reduce(schemaOf(schema));
  return [
    '"""The tables of the protocol.',
    "",
    `Generated from src/protocol/messages.ts by "${GENERATE_COMMAND}"; not to be edited.`,
    '"""',
    "",
    ...Object.entries(CONSTANTS).map(([name, value]) => `${name} = ${value}`),
    "",
    `ENVELOPE = ${pythonLiteral(reduced(envelopeSchema), "", "ENVELOPE = ".length)}`,
    "",
    `MESSAGES = ${pythonLiteral(mapMessages(reduced, isSpokenInside), "", "MESSAGES = ".length)}`,
    "",
  ].join("\n");
}

type Spec = (typeof messages)[keyof typeof messages];

/** The runner has no part in what a client and its daemon say to each other. */
function isSpokenInside({ link }: Spec): boolean {
  return link !== "daemon";
}

function mapMessages(
  convert: (schema: z.ZodType) => JsonObject,
  isWanted: (spec: Spec) => boolean = () => true,
): JsonObject {
  const wanted = Object.entries<Spec>(messages).filter(([, spec]) => isWanted(spec));
  return Object.fromEntries(
    wanted.map(([method, spec]) => [
      method,
      {
        link: spec.link,
        from: spec.from,
        kind: spec.kind,
        params: convert(spec.params),
        ...(spec.kind === "request" ? { result: convert(spec.result) } : {}),
      },
    ]),
  );
}

function schemaOf(schema: z.ZodType): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema);
  return rest as JsonObject;
}

/** Leaves out what schema.py takes for granted: safe integers, string keys, types of constants. */
function reduce(schema: JsonObject): JsonObject {
  const kept: Record<string, Json> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (!KNOWN_KEYWORDS.has(keyword)) {
      throw new Error(`python/cellar_runner/schema.py does not know the keyword "${keyword}"`);
    }
    if (isImplied(schema, keyword, value)) continue;
    kept[keyword] = reduceKeyword(keyword, value);
  }
  return kept;
}

function isImplied(schema: JsonObject, keyword: string, value: Json): boolean {
  if (keyword === "type") return "const" in schema || "enum" in schema;
  if (keyword === "propertyNames") return Object.keys(value as JsonObject).join() === "type";
  if (schema.type !== "integer") return false;
  return (
    (keyword === "minimum" && value === Number.MIN_SAFE_INTEGER) ||
    (keyword === "maximum" && value === Number.MAX_SAFE_INTEGER)
  );
}

function reduceKeyword(keyword: string, value: Json): Json {
  switch (keyword) {
    case "properties":
      return Object.fromEntries(
        Object.entries(value as JsonObject).map(([name, part]) => [
          name,
          reduce(part as JsonObject),
        ]),
      );
    case "anyOf":
    case "oneOf":
      return (value as readonly JsonObject[]).map(reduce);
    case "additionalProperties":
    case "propertyNames":
    case "items":
      return typeof value === "boolean" ? value : reduce(value as JsonObject);
    default:
      return value;
  }
}

/** A Python literal, on one line where it fits behind the `used` characters before it. */
function pythonLiteral(value: Json, indent: string, used: number): string {
  const short = shortLiteral(value);
  if (value === null || typeof value !== "object" || used + short.length <= PYTHON_WIDTH) {
    return short;
  }
  const inner = `${indent}    `;
  if (isList(value)) {
    const items = value.map((item) => `${inner}${pythonLiteral(item, inner, inner.length + 1)},`);
    return `[\n${items.join("\n")}\n${indent}]`;
  }
  const members = Object.entries(value).map(([key, item]) => {
    const start = `${inner}${JSON.stringify(key)}: `;
    return `${start}${pythonLiteral(item, inner, start.length + 1)},`;
  });
  return `{\n${members.join("\n")}\n${indent}}`;
}

function shortLiteral(value: Json): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  if (isList(value)) return `[${value.map(shortLiteral).join(", ")}]`;
  const members = Object.entries(value).map(
    ([key, item]) => `${JSON.stringify(key)}: ${shortLiteral(item)}`,
  );
  return `{${members.join(", ")}}`;
}

function isList(value: readonly Json[] | JsonObject): value is readonly Json[] {
  return Array.isArray(value);
}

function writeGeneratedFiles(root: string): void {
  for (const [path, text] of generatedFiles()) {
    const target = join(root, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
    process.stdout.write(`wrote ${path}\n`);
  }
}

const program = process.argv[1];
if (program !== undefined && realpathSync(program) === fileURLToPath(import.meta.url)) {
  writeGeneratedFiles(fileURLToPath(new URL("../../", import.meta.url)));
}
