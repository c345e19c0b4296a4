import { isPlain } from "../../config/layers.js";

const MOST_STEPS = 32;
const DEEPEST = 16;
const MOST_NODES = 4_000;
/** Says nothing about a value, or is of no use to a caller. */
const LEFT_OUT = [
  "$ref",
  "xml",
  "discriminator",
  "externalDocs",
  "example",
  "examples",
  "nullable",
];

/** Looks parts of a document up. References to other documents lead nowhere. */
export class References {
  readonly #document: Readonly<Record<string, unknown>>;

  constructor(document: Readonly<Record<string, unknown>>) {
    this.#document = document;
  }

  /** The object itself, or the one that it refers to; undefined if there is none. */
  follow(node: unknown): Record<string, unknown> | undefined {
    let found = node;
    for (let step = 0; step < MOST_STEPS; step++) {
      if (!isPlain(found)) return undefined;
      if (typeof found.$ref !== "string") return found;
      found = this.#at(found.$ref);
    }
    return undefined;
  }

  /** A schema without references. What contains itself ends as any value, and so does what is too large. */
  schema(node: unknown): Record<string, unknown> {
    return this.#schema(node, [], { nodes: 0 });
  }

  #schema(
    node: unknown,
    trail: readonly unknown[],
    used: { nodes: number },
  ): Record<string, unknown> {
    const found = this.follow(node);
    used.nodes += 1;
    if (found === undefined || used.nodes > MOST_NODES || trail.length >= DEEPEST) return {};
    if (trail.includes(found)) return typeof found.type === "string" ? { type: found.type } : {};
    const inner = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(inner);
      return isPlain(value) ? this.#schema(value, [...trail, found], used) : value;
    };
    const entries = Object.entries(found).filter(
      ([key]) => !LEFT_OUT.includes(key) && !key.startsWith("x-"),
    );
    const read = Object.fromEntries(
      entries.map(([key, value]): [string, unknown] => {
        if (["enum", "const", "default", "required", "type"].includes(key)) return [key, value];
        const isMap = ["properties", "patternProperties", "$defs"].includes(key) && isPlain(value);
        if (!isMap) return [key, inner(value)];
        return [
          key,
          Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one)])),
        ];
      }),
    );
    return asOf31(merged(read), found);
  }

  #at(reference: string): unknown {
    if (!reference.startsWith("#/")) return undefined;
    const steps = reference.slice(2).split("/").slice(0, MOST_STEPS).map(decoded);
    return steps.reduce<unknown>(
      (node, key) =>
        typeof node === "object" && node !== null && Object.hasOwn(node, key)
          ? (node as Record<string, unknown>)[key]
          : undefined,
      this.#document,
    );
  }
}

function decoded(step: string): string {
  const plain = step.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}

/** Version 3.0 writes some of JSON Schema in its own way. */
function asOf31(
  schema: Record<string, unknown>,
  { nullable, minimum, maximum }: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { exclusiveMinimum, exclusiveMaximum, ...rest } = schema;
  if (nullable === true && typeof rest.type === "string") rest.type = [rest.type, "null"];
  if (exclusiveMinimum === true) rest.exclusiveMinimum = minimum;
  else if (typeof exclusiveMinimum === "number") rest.exclusiveMinimum = exclusiveMinimum;
  if (exclusiveMaximum === true) rest.exclusiveMaximum = maximum;
  else if (typeof exclusiveMaximum === "number") rest.exclusiveMaximum = exclusiveMaximum;
  return rest;
}

/** Objects that `allOf` puts together are one object, as far as they agree. */
function merged(schema: Record<string, unknown>): Record<string, unknown> {
  const { allOf, ...rest } = schema;
  if (!Array.isArray(allOf) || !allOf.every(isPlain)) return schema;
  const parts = [rest, ...allOf];
  const isObject = ({ type, properties }: Record<string, unknown>) =>
    type === "object" || (type === undefined && isPlain(properties));
  if (allOf.length === 1) return { ...allOf[0], ...rest };
  if (!allOf.every(isObject)) return schema;
  const properties = parts.flatMap((part) =>
    isPlain(part.properties) ? Object.entries(part.properties) : [],
  );
  const required = parts.flatMap((part) => (Array.isArray(part.required) ? part.required : []));
  return {
    ...rest,
    type: "object",
    properties: Object.fromEntries(properties),
    required: [...new Set(required)],
  };
}
