import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import {
  AGENT_FUNCTIONS,
  CALL_PREFIXES,
  functionsOf,
  OTHER_PREFIXES,
  SESSION_TOOLS,
} from "./agent/functions.js";
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

/** Every generated file: its path from the repository's root, and its text. */
export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map([
    ["protocol/schema.json", schemaText()],
    ["python/cellar_runner/protocol/constants.py", constantsText()],
    ["python/cellar_runner/protocol/agent_functions.py", agentFunctionsText()],
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
    messages: messageSchemas(),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function constantsText(): string {
  return pythonText(
    "The limits of the protocol.",
    "messages.ts",
    Object.entries(CONSTANTS).map(([name, value]) => `${name} = ${value}`),
  );
}

function agentFunctionsText(): string {
  const listed = (names: readonly string[]) => names.map((name) => `    "${name}",`);
  return pythonText("The functions of an agent.", "agent/functions.ts", [
    "NAMES = (",
    ...listed(Object.keys(AGENT_FUNCTIONS)),
    ")",
    "# With what the ids of their calls begin.",
    "PREFIXES = {",
    ...Object.entries({ ...CALL_PREFIXES, ...OTHER_PREFIXES }).map(
      ([name, prefix]) => `    "${name}": "${prefix}",`,
    ),
    "}",
    "# What counts as having looked at the context.",
    "EXPLORING = (",
    ...listed(functionsOf("explore", "delegate")),
    ")",
    "# Tools of the host that a session does itself.",
    "SESSION_TOOLS = (",
    ...listed(SESSION_TOOLS),
    ")",
  ]);
}

function pythonText(title: string, source: string, lines: readonly string[]): string {
  return [
    `"""${title}`,
    "",
    `Generated from src/protocol/${source} by "${GENERATE_COMMAND}"; not to be edited.`,
    '"""',
    "",
    ...lines,
    "",
  ].join("\n");
}

function messageSchemas(): JsonObject {
  return Object.fromEntries(
    Object.entries<(typeof messages)[keyof typeof messages]>(messages).map(([method, spec]) => [
      method,
      {
        link: spec.link,
        from: spec.from,
        kind: spec.kind,
        params: schemaOf(spec.params),
        ...(spec.kind === "request" ? { result: schemaOf(spec.result) } : {}),
      },
    ]),
  );
}

function schemaOf(schema: z.ZodType): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema);
  return rest as JsonObject;
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
