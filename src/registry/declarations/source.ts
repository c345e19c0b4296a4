import { open as openFile } from "node:fs/promises";
import { basename, extname } from "node:path";
import { nearestName } from "../../config/names.js";
import { CellarError, counted, describeError } from "../../errors.js";
import {
  type RegisteredTool,
  ToolError,
  type ToolOutput,
  type ToolRequest,
  type ToolSource,
} from "../tool.js";
import { checkDeclarations, type DeclaredTool } from "./declarations.js";
import { type Problem, parseDeclarations } from "./document.js";
import { type OpenSandbox, PythonCalls } from "./python-calls.js";
import { moduleOf, type PythonFiles, readPythonFiles } from "./python-files.js";

const MAX_BYTES = 1024 * 1024;
const MAX_PROBLEMS = 100;
const DEFAULT_TIMEOUT_MS = 30_000;

/** A function of the host that a declaration can name as `implementation: {type: builtin, name: …}`. */
export type BuiltinTool = (request: ToolRequest) => Promise<ToolOutput>;

export interface DeclarationOptions {
  /** Opens the sandboxes that Python implementations run in. */
  readonly open: OpenSandbox;
  readonly builtins?: Readonly<Record<string, BuiltinTool>> | undefined;
  readonly group?: string | undefined;
}

export interface DeclarationFile {
  readonly tools: readonly DeclaredTool[];
  readonly files: PythonFiles;
}

/** The tools that a YAML or JSON file declares. */
export function declarationSource(path: string, options: DeclarationOptions): ToolSource {
  return new DeclarationSource(path, options);
}

/** Reads and checks a file with its Python files; the error has every problem, with its line. */
export async function readDeclarations(path: string): Promise<DeclarationFile> {
  const parsed = parseDeclarations(await readText(path), formatOf(path));
  if (!parsed.isParsed) throw invalidFile(path, parsed.problems);
  const { tools, implementations, problems } = checkDeclarations(parsed.document);
  const python = await readPythonFiles(path, implementations);
  const all = [...problems, ...python.problems].toSorted((one, other) => one.line - other.line);
  if (all.length > 0) throw invalidFile(path, all);
  return { tools, files: python.files };
}

class DeclarationSource implements ToolSource {
  readonly group: string | undefined;
  readonly #path: string;
  readonly #options: DeclarationOptions;
  #reading: Promise<readonly RegisteredTool[]> | undefined;
  #calls: PythonCalls | undefined;
  #isClosed = false;

  constructor(path: string, options: DeclarationOptions) {
    this.group = options.group;
    this.#path = path;
    this.#options = options;
  }

  tools(): Promise<readonly RegisteredTool[]> {
    this.#reading ??= this.#read();
    return this.#reading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#reading?.catch(() => {});
    await this.#calls?.[Symbol.asyncDispose]();
  }

  async #read(): Promise<readonly RegisteredTool[]> {
    const { tools, files } = await readDeclarations(this.#path);
    const calls = new PythonCalls(files, this.#options.open);
    this.#calls = calls;
    return tools.map((tool) => ({
      ...tool.declaration,
      run: async (request) => await this.#run(tool, request, calls),
    }));
  }

  async #run(tool: DeclaredTool, request: ToolRequest, calls: PythonCalls): Promise<ToolOutput> {
    const { declaration, implementation } = tool;
    if (this.#isClosed) {
      throw new ToolError("UNAVAILABLE", `${declaration.name}: its source was closed`);
    }
    const given = completed(tool, request.arguments);
    if (implementation.type === "builtin") {
      return await this.#builtin(
        declaration.name,
        implementation.name,
      )({
        ...request,
        arguments: given,
      });
    }
    return await calls.run({
      tool: declaration.name,
      module: moduleOf(implementation.file),
      function: implementation.function,
      arguments: given,
      timeoutMs: declaration.limits?.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      signal: request.signal,
    });
  }

  #builtin(tool: string, name: string): BuiltinTool {
    const { builtins = {} } = this.#options;
    const builtin = Object.hasOwn(builtins, name) ? builtins[name] : undefined;
    if (builtin !== undefined) return builtin;
    const message = `${tool} needs the host's function ${name}, which is not connected here`;
    throw new ToolError("UNAVAILABLE", message, { isRetryable: false });
  }
}

/** The arguments with the defaults of those that were left out. */
function completed(
  { declaration: { name }, parameters }: DeclaredTool,
  given: ToolRequest["arguments"],
): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    if (!parameters.has(key)) {
      const near = nearestName(key, parameters.keys());
      const guess = near === undefined ? "" : `; did you mean ${near}?`;
      throw new ToolError("BAD_ARGUMENTS", `${name} has no parameter ${key.slice(0, 60)}${guess}`);
    }
    if (value !== undefined) all[key] = value;
  }
  for (const [key, parameter] of parameters) {
    if (Object.hasOwn(all, key)) continue;
    if (parameter.required) {
      throw new ToolError("BAD_ARGUMENTS", `${name} needs the argument ${key}`);
    }
    if (parameter.default !== undefined) all[key] = parameter.default;
  }
  return all;
}

async function readText(path: string): Promise<string> {
  try {
    await using file = await openFile(path, "r");
    const buffer = Buffer.alloc(MAX_BYTES + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    if (bytesRead <= MAX_BYTES) return buffer.toString("utf8", 0, bytesRead);
  } catch (error) {
    throw new CellarError("INVALID_CONFIG", `${path} cannot be read: ${describeError(error)}`, {
      remedy: "Name a YAML or JSON file with tools.",
      cause: error,
    });
  }
  throw new CellarError("INVALID_CONFIG", `${path} is larger than 1 MB`, {
    remedy: "Split it into several files.",
  });
}

function formatOf(path: string): "yaml" | "json" {
  return extname(path).toLowerCase() === ".json" ? "json" : "yaml";
}

function invalidFile(path: string, all: readonly Problem[]): CellarError {
  const file = basename(path);
  const problems = all.map(({ line, text }) =>
    line > 0 ? `${file}:${line}: ${text}` : `${file}: ${text}`,
  );
  const shown = problems.slice(0, MAX_PROBLEMS);
  if (problems.length > shown.length) shown.push(`and ${problems.length - shown.length} more`);
  return new CellarError(
    "INVALID_CONFIG",
    `${path} has ${counted(all.length, "problem")}:\n${shown.map((line) => `  ${line}`).join("\n")}`,
    { remedy: "Correct the lines that are named.", details: { problems } },
  );
}
