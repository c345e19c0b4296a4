import { z } from "zod";
import { CellarError } from "../../errors.js";
import { argumentsOf, unfit, unknownTool } from "../dispatch.js";
import type { Refusal, Tool } from "../tool.js";
import { TOOLS } from "../tool-list.js";

export interface JsonSchema {
  readonly type: "object";
  readonly properties: Record<string, unknown>;
  readonly required?: string[];
  readonly additionalProperties: false;
  readonly [key: string]: unknown;
}

export interface OfferedTool extends Pick<Tool, "name" | "title" | "description" | "input"> {
  readonly schema: JsonSchema;
}

export interface OfferOptions {
  readonly session?: string | undefined;
  readonly only?: readonly string[] | undefined;
}

/** Useless to a model that has only one notebook. */
const ABOUT_OTHERS: readonly string[] = [
  "create_notebook",
  "list_notebooks",
  "fork_notebook",
  "delete_notebook",
];

const LONGEST_TEXT = 32 * 1024 * 1024;
const onlySchema = z.array(z.string()).min(1).optional();

export class Offer {
  readonly tools: readonly OfferedTool[];
  readonly session: string | undefined;

  constructor({ session, only }: OfferOptions) {
    const isFixed = session !== undefined;
    const possible = TOOLS.filter(({ name }) => !isFixed || !ABOUT_OTHERS.includes(name));
    this.session = session;
    this.tools = chosen(possible, only).map((tool) => offered(tool, isFixed));
  }

  get names(): readonly string[] {
    return this.tools.map(({ name }) => name);
  }

  read(name: string, given: unknown): { readonly input: unknown } | { readonly refusal: Refusal } {
    const tool = this.tools.find((one) => one.name === name);
    if (tool === undefined) return { refusal: unknownTool(name, this.tools) };
    const input = typeof given === "string" ? parsed(given) : { value: given };
    if (input === undefined) {
      const message = `the arguments of ${name} are not JSON`;
      const remedy = `Give an object with: ${argumentsOf(tool)}.`;
      return { refusal: { code: "INVALID_INPUT", message, remedy } };
    }
    if (this.session === undefined) return { input: input.value };
    const read = tool.input.safeParse(withoutSession(input.value ?? {}, this.session));
    if (read.success) return { input: { ...read.data, session: this.session } };
    return { refusal: unfit(tool, read.error) };
  }
}

function chosen(possible: readonly Tool[], only: OfferOptions["only"]): readonly Tool[] {
  const names = onlySchema.safeParse(only);
  const there = possible.map(({ name }) => name);
  const strange = names.data?.filter((name) => !there.includes(name)) ?? [];
  if (!names.success || strange.length > 0) {
    const problem = names.success
      ? `unknown tools: ${strange.join(", ")}`
      : "it must be a list of names";
    throw new CellarError("INVALID_INPUT", `only: ${problem}`, {
      remedy: `Name some of: ${there.join(", ")}.`,
    });
  }
  return possible.filter(({ name }) => names.data?.includes(name) ?? true);
}

function offered({ name, title, description, input: whole }: Tool, isFixed: boolean): OfferedTool {
  const input = isFixed && "session" in whole.shape ? whole.omit({ session: true }) : whole;
  // Providers expect different dialects, so `$schema` is left out.
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: "input" });
  return { name, title, description, input, schema: schema as JsonSchema };
}

function parsed(text: string): { readonly value: unknown } | undefined {
  if (text.length > LONGEST_TEXT) return undefined;
  if (text.trim() === "") return { value: {} };
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** A model may repeat the session of an answer; any other is refused. */
function withoutSession(value: unknown, session: string): unknown {
  if (typeof value !== "object" || value === null || !("session" in value)) return value;
  const { session: named, ...rest } = value;
  return named === session ? rest : value;
}
