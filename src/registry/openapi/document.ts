import { readFile, stat } from "node:fs/promises";
import { isPlain } from "../../config/layers.js";
import { CellarError, describeError } from "../../errors.js";

const LONGEST_TEXT = 20 * 1024 * 1024;
const MOST_ALIASES = 1_000;

/** A document as an object, as JSON or YAML, or in a file with one of them. */
export type OpenApiDocument =
  | Readonly<Record<string, unknown>>
  | string
  | { readonly file: string };

/** The document as an object, of a version that can be read. */
export async function readDocument(
  name: string,
  document: OpenApiDocument,
): Promise<Record<string, unknown>> {
  const value = await valueOfDocument(name, document);
  if (!isPlain(value)) throw refused(name, "is not an object");
  const { openapi, swagger, paths } = value;
  if (swagger !== undefined) {
    throw refused(name, `is Swagger ${String(swagger).slice(0, 20)}`, "Convert it to OpenAPI 3.");
  }
  if (typeof openapi !== "string" || !/^3\.[01]\.\d+/.test(openapi)) {
    const version = JSON.stringify(openapi)?.slice(0, 40) ?? "no version";
    throw refused(name, `has ${version} in openapi`, "Give a document of version 3.0 or 3.1.");
  }
  if (!isPlain(paths)) throw refused(name, "has no paths");
  return value;
}

async function valueOfDocument(name: string, document: OpenApiDocument): Promise<unknown> {
  if (typeof document === "string") return await parse(name, document);
  if (Object.keys(document).length !== 1 || typeof document.file !== "string") return document;
  return await parse(name, await readBounded(name, document.file));
}

async function readBounded(name: string, file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size <= LONGEST_TEXT) return await readFile(file, "utf8");
  } catch (error) {
    throw refused(name, `cannot be read: ${describeError(error)}`, "Check document.file.");
  }
  throw refused(name, `is larger than ${LONGEST_TEXT} bytes`);
}

async function parse(name: string, text: string): Promise<unknown> {
  if (text.length > LONGEST_TEXT) {
    throw refused(name, `has ${text.length} characters, more than ${LONGEST_TEXT}`);
  }
  try {
    if (text.trimStart().startsWith("{")) return JSON.parse(text);
  } catch {
    // A flow mapping of YAML begins like JSON.
  }
  const { parse: parseYaml } = await import("yaml");
  try {
    return parseYaml(text, { maxAliasCount: MOST_ALIASES, logLevel: "error" });
  } catch (error) {
    const [first = ""] = describeError(error).split("\n");
    throw refused(name, `is neither JSON nor YAML: ${first}`);
  }
}

export function refused(name: string, why: string, remedy?: string): CellarError {
  return new CellarError("INVALID_CONFIG", `the OpenAPI document of ${name} ${why}`, {
    remedy: remedy ?? "Correct the document.",
  });
}
