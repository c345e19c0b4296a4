import type { z } from "zod";
import { errorIn } from "../../http/complaint.js";
import { parseJson } from "../../http/endpoint.js";
import { HttpFault } from "../../http/http-fault.js";

/** Parses an answer that is not streamed, and throws the error that it may hold. */
export function readWhole<T>(text: string, schema: z.ZodType<T>): T {
  return checked(parseAnswer(text), schema, "the answer", false);
}

/** Parses an event of a stream, and throws the error that it may hold. */
export function readPiece<T>(data: string, schema: z.ZodType<T>): T {
  const what = "a piece of the answer";
  return checked(parseAnswer(data, what), schema, what, true);
}

function parseAnswer(text: string, what?: string): unknown {
  const answer = parseJson(text, what);
  const fault = errorIn(answer);
  if (fault !== undefined) throw fault;
  return answer;
}

function checked<T>(answer: unknown, schema: z.ZodType<T>, what: string, isTransient: boolean): T {
  const read = schema.safeParse(answer);
  if (read.success) return read.data;
  throw new HttpFault(`${what} does not have the expected form`, { isTransient });
}
