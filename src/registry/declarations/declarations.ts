import { z } from "zod";
import { isArgumentName } from "../../backends/host-tools/names.js";
import { shownValue } from "../../config/kinds.js";
import { suggestion } from "../../config/names.js";
import { invalidOptions } from "../../config/problems.js";
import type { ToolDeclaration } from "../tool.js";
import { declarationOf } from "./declaration.js";
import type { Document, Path, Problem } from "./document.js";
import {
  IMPLEMENTATION_FIELDS,
  type Implementation,
  isOfType,
  itemsSchema,
  type Parameter,
  parameterSchema,
  toolSchema,
} from "./fields.js";

const MAX_TOOLS = 1_000;
const LONGEST_NAME = 64;

const fileSchema = z.strictObject({
  tools: z.record(z.string(), z.unknown()),
});

/** A tool of a file, and how it is run. */
export interface DeclaredTool {
  readonly declaration: ToolDeclaration;
  readonly implementation: Implementation;
  readonly parameters: ReadonlyMap<string, Parameter>;
}

/** How a tool is run, also of one that has other problems. */
export interface NamedImplementation {
  readonly name: string;
  readonly implementation: Implementation;
  readonly line: number;
}

export interface CheckedFile {
  readonly tools: readonly DeclaredTool[];
  readonly implementations: readonly NamedImplementation[];
  readonly problems: readonly Problem[];
}

/** Every tool of the file that is right, and everything that is wrong with the others. */
export function checkDeclarations(document: Document): CheckedFile {
  const problems: Problem[] = [];
  const check = new Check(document, problems);
  const file = check.parse(fileSchema, document.value, []);
  // A name such as __proto__ is lost in what was parsed.
  const given = isRecord(document.value) ? document.value.tools : undefined;
  const entries = Object.entries(isRecord(given) ? given : {});
  if (file !== undefined && entries.length === 0) check.add(["tools"], "tools is empty");
  if (entries.length > MAX_TOOLS) {
    check.add(["tools"], `tools has ${entries.length} entries, and ${MAX_TOOLS} are the most`);
  }
  const implementations: NamedImplementation[] = [];
  const tools = entries
    .slice(0, MAX_TOOLS)
    .map(([name, value]) => checkTool(check, name, value, implementations))
    .filter((tool) => tool !== undefined);
  return { tools, implementations, problems };
}

/** Collects problems with the lines of their fields. */
class Check {
  readonly #document: Document;
  readonly #problems: Problem[];

  constructor(document: Document, problems: Problem[]) {
    this.#document = document;
    this.#problems = problems;
  }

  lineOf(path: Path): number {
    return this.#document.lineOf(path);
  }

  add(path: Path, text: string): void {
    this.#problems.push({ line: this.lineOf(path), text });
  }

  parse<S extends z.ZodType>(schema: S, value: unknown, path: Path): z.infer<S> | undefined {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues) this.#addIssue(issue, value, path, schema);
    return undefined;
  }

  #addIssue(issue: z.core.$ZodIssue, input: unknown, path: Path, schema: z.ZodType): void {
    const inner = issue.path.map((key) => (typeof key === "symbol" ? String(key) : key));
    const full = [...path, ...inner];
    const place = full.join(".");
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) {
        const guess = suggestion(key, fieldsAt(schema, inner));
        this.add([...full, key], `unknown field ${[...full, key].join(".")}${guess}`);
      }
      return;
    }
    const nameOf = () => (place === "" ? "the file" : place);
    for (const text of describe(issue, input, nameOf)) this.add(full, text);
  }
}

/** The sentences that an option in code would get. */
function describe(
  issue: z.core.$ZodIssue,
  input: unknown,
  nameOf: () => string,
): readonly string[] {
  // Below a name, since without any it would be taken for an option's value.
  const named = { ...issue, path: ["file", ...issue.path] };
  const checked = { input: { file: input }, known: [], nameOf };
  const { problems } = invalidOptions("", [named], checked).details;
  return Array.isArray(problems) ? problems.map(String) : [];
}

function fieldsAt(schema: z.ZodType, path: Path): readonly string[] {
  if (path.at(-1) === "items") return Object.keys(itemsSchema.shape);
  return schema instanceof z.ZodObject && path.length === 0 ? Object.keys(schema.shape) : [];
}

function checkTool(
  check: Check,
  name: string,
  value: unknown,
  implementations: NamedImplementation[],
): DeclaredTool | undefined {
  const path = ["tools", name];
  if (!isArgumentName(name) || name.startsWith("_") || name.length > LONGEST_NAME) {
    const rule = `the name of a Python function of at most ${LONGEST_NAME} characters`;
    check.add(path, `tools.${name.slice(0, LONGEST_NAME)} must be ${rule}`);
  }
  const fields = check.parse(toolSchema, value, path);
  const parts = isRecord(value) ? value : {};
  const parameters = checkParameters(check, parts.parameters, [...path, "parameters"]);
  const implementation = checkImplementation(check, parts.implementation, [
    ...path,
    "implementation",
  ]);
  if (implementation !== undefined) {
    const line = check.lineOf([...path, "implementation"]);
    implementations.push({ name, implementation, line });
  }
  if (fields === undefined || implementation === undefined) return undefined;
  if (fields.destructive && fields.side_effects === false) {
    check.add(
      [...path, "destructive"],
      `${path.join(".")}.destructive contradicts side_effects: false`,
    );
  }
  const declaration = declarationOf(name, fields, parameters);
  return { declaration, implementation, parameters };
}

function checkParameters(check: Check, value: unknown, path: Path): Map<string, Parameter> {
  const parameters = new Map<string, Parameter>();
  for (const [name, given] of Object.entries(isRecord(value) ? value : {})) {
    const place = [...path, name];
    if (!isArgumentName(name)) {
      check.add(place, `${place.join(".")} must be the name of a Python argument`);
    }
    const parameter = check.parse(parameterSchema, given, place);
    if (parameter === undefined) continue;
    parameters.set(name, parameter);
    checkValues(check, parameter, place);
  }
  return parameters;
}

function checkValues(check: Check, parameter: Parameter, path: Path): void {
  const { type, enum: allowed } = parameter;
  const name = path.join(".");
  const given = parameter.default;
  if (given !== undefined && parameter.required) {
    check.add(
      [...path, "default"],
      `${name} is required, and has a default; it can be one of both`,
    );
  }
  // A default of null says: nothing, as a function's own default does.
  if (given !== undefined && given !== null && !isOfType(given, type)) {
    const wanted = [type].flat().join(" or ");
    check.add(
      [...path, "default"],
      `${name}.default must be of type ${wanted}, not ${shownValue(given)}`,
    );
  }
  for (const [index, one] of (allowed ?? []).entries()) {
    if (isOfType(one, type)) continue;
    check.add(
      [...path, "enum", index],
      `${name}.enum: ${shownValue(one)} is not of the type ${[type].flat().join(" or ")}`,
    );
  }
  if (allowed !== undefined && given !== undefined && given !== null && !allowed.includes(given)) {
    check.add([...path, "default"], `${name}.default ${shownValue(given)} is not among its enum`);
  }
}

function checkImplementation(check: Check, value: unknown, path: Path): Implementation | undefined {
  if (!isRecord(value)) return undefined;
  const { type } = value;
  if (type === "python" || type === "builtin") {
    return check.parse(IMPLEMENTATION_FIELDS[type], value, path);
  }
  const kinds = Object.keys(IMPLEMENTATION_FIELDS).join(", ");
  const shown =
    type === undefined ? "is missing" : `must be one of ${kinds}, not ${shownValue(type)}`;
  check.add([...path, "type"], `${path.join(".")}.type ${shown}`);
  return undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
