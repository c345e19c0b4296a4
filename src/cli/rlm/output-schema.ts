import { readFile, stat } from "node:fs/promises";
import { z } from "zod";
import { describeError } from "../../errors.js";
import { invalidInput } from "../terminal/report-error.js";

const MOST_BYTES = 1024 * 1024;

/** What an answer must be, from a file with JSON Schema. */
export async function readOutputSchema(path: string): Promise<z.ZodType> {
  let text: string;
  try {
    const { size } = await stat(path);
    if (size > MOST_BYTES) throw new Error("it has more than 1 MB");
    text = await readFile(path, "utf8");
  } catch (error) {
    throw refused(path, describeError(error));
  }
  try {
    const schema: unknown = JSON.parse(text);
    if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
      throw new Error("it is not an object");
    }
    return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (error) {
    throw refused(path, describeError(error));
  }
}

function refused(path: string, why: string) {
  return invalidInput(
    `the schema ${path} cannot be used: ${why}`,
    'Give a file with JSON Schema, such as {"type": "array", "items": {"type": "string"}}.',
  );
}
