import { isPlain } from "../../config/layers.js";
import { PythonNames, pythonName } from "../source/python-names.js";
import { boundedDescription, boundedParameters, returnsOf } from "../source/schema-bounds.js";
import type { ToolDeclaration } from "../tool.js";
import type { References } from "./references.js";

const METHODS = ["get", "head", "post", "put", "patch", "delete"] as const;
export type Method = (typeof METHODS)[number];

const MOST_OPERATIONS = 512;
const MOST_PARAMETERS = 100;
/** Set by whoever sends the request, or used to bend it. */
const OWN_HEADERS =
  /^(?:accept|authorization|connection|content-.*|cookie|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|via|x-forwarded-.*|forwarded)$/i;

/** Where an argument goes. */
export interface Place {
  readonly in: "path" | "query" | "header" | "body";
  /** As the service calls it; undefined: the body as a whole. */
  readonly name: string | undefined;
  readonly isRequired: boolean;
  readonly style: string | undefined;
  readonly explode: boolean | undefined;
  /** Whether it is written as JSON. */
  readonly isJson: boolean;
}

export interface Operation {
  readonly method: Method;
  readonly path: string;
  readonly declaration: ToolDeclaration;
  /** By the arguments' names in Python. */
  readonly places: ReadonlyMap<string, Place>;
}

interface Argument {
  readonly place: Place;
  readonly schema: Record<string, unknown>;
}

/** The operations of a document that can be called with JSON. `isTaken` tells what credentials set already. */
export function operationsOf(
  document: Readonly<Record<string, unknown>>,
  references: References,
  isTaken: (place: "header" | "query", name: string) => boolean,
): readonly Operation[] {
  const names = new PythonNames("operation");
  const found = Object.entries(isPlain(document.paths) ? document.paths : {}).flatMap(
    ([path, item]) => {
      const shared = references.follow(item);
      if (shared === undefined || !path.startsWith("/")) return [];
      return METHODS.flatMap((method) => {
        const own = references.follow(shared[method]);
        return own === undefined ? [] : [{ path, method, own, shared }];
      });
    },
  );
  return found.slice(0, MOST_OPERATIONS).flatMap(({ path, method, own, shared }) => {
    const given = argumentsOf(references, own, shared, isTaken);
    if (given === undefined) return [];
    const id = typeof own.operationId === "string" ? own.operationId : `${method}${path}`;
    const declaration = declare(names.take(id), method, own, given, references);
    const places = new Map([...given].map(([name, { place }]) => [name, place]));
    return [{ method, path, declaration, places }];
  });
}

/** Undefined if the operation needs a body of a type that is not JSON. */
function argumentsOf(
  references: References,
  own: Record<string, unknown>,
  shared: Record<string, unknown>,
  isTaken: (place: "header" | "query", name: string) => boolean,
): ReadonlyMap<string, Argument> | undefined {
  const names = new PythonNames("argument");
  const listed = [own.parameters, shared.parameters]
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .slice(0, MOST_PARAMETERS);
  const seen = new Set<string>();
  const parameters = listed.flatMap((node): [string, Argument][] => {
    const read = parameterOf(references.follow(node), references);
    if (read === undefined) return [];
    const { in: where, name = "" } = read.place;
    const isHidden =
      (where === "header" && (OWN_HEADERS.test(name) || isTaken("header", name))) ||
      (where === "query" && isTaken("query", name));
    // What the operation says comes before what its path says.
    if (isHidden || seen.has(`${where} ${name}`)) return [];
    seen.add(`${where} ${name}`);
    return [[names.take(name), read]];
  });
  const body = bodyOf(references, own.requestBody, new Set(parameters.map(([name]) => name)));
  if (body === undefined) return undefined;
  return new Map([...parameters, ...body.map(([name, one]) => [names.take(name), one] as const)]);
}

function parameterOf(
  node: Record<string, unknown> | undefined,
  references: References,
): Argument | undefined {
  if (node === undefined || typeof node.name !== "string" || node.name === "") return undefined;
  const where = node.in;
  if (where !== "path" && where !== "query" && where !== "header") return undefined;
  const content = isPlain(node.content) ? Object.values(node.content)[0] : undefined;
  const schema = references.schema(isPlain(content) ? content.schema : node.schema);
  const description = typeof node.description === "string" ? node.description : undefined;
  return {
    place: {
      in: where,
      name: node.name,
      isRequired: where === "path" || node.required === true,
      style: typeof node.style === "string" ? node.style : undefined,
      explode: typeof node.explode === "boolean" ? node.explode : undefined,
      isJson: content !== undefined,
    },
    schema: description === undefined ? schema : { ...schema, description },
  };
}

/** The members of an object as arguments, or the whole as `body`. */
function bodyOf(
  references: References,
  node: unknown,
  taken: ReadonlySet<string>,
): [string, Argument][] | undefined {
  const body = references.follow(node);
  if (body === undefined) return [];
  const content = isPlain(body.content) ? body.content : {};
  const type = Object.keys(content).find(isJsonType);
  if (type === undefined) return body.required === true ? undefined : [];
  const media = content[type];
  const schema = references.schema(isPlain(media) ? media.schema : undefined);
  const place = { in: "body", style: undefined, explode: undefined, isJson: true } as const;
  const { properties, required } = schema;
  const members = Object.entries(isPlain(properties) ? properties : {}).filter(
    ([, member]) => !(isPlain(member) && member.readOnly === true),
  );
  const names = members.map(([name]) => pythonName(name, "argument"));
  const isFlat =
    members.length > 0 &&
    members.length <= MOST_PARAMETERS &&
    !["anyOf", "oneOf", "allOf", "not"].some((key) => key in schema) &&
    (schema.additionalProperties ?? false) === false &&
    new Set(names).size === names.length &&
    !names.some((name) => taken.has(name));
  if (!isFlat) {
    const whole = { ...place, name: undefined, isRequired: body.required === true };
    return [["body", { place: whole, schema }]];
  }
  const needed: unknown[] = body.required === true && Array.isArray(required) ? required : [];
  return members.map(([name, member]) => [
    name,
    {
      place: { ...place, name, isRequired: needed.includes(name) },
      schema: isPlain(member) ? member : {},
    },
  ]);
}

function declare(
  name: string,
  method: Method,
  own: Record<string, unknown>,
  given: ReadonlyMap<string, Argument>,
  references: References,
): ToolDeclaration {
  const isReadOnly = method === "get" || method === "head";
  const texts = [own.summary, own.description, own.deprecated === true ? "Deprecated." : ""];
  const words = texts.filter((text): text is string => typeof text === "string" && text !== "");
  const [tag] = Array.isArray(own.tags) ? own.tags : [];
  return {
    name,
    description: boundedDescription(words.join("\n\n")),
    category: typeof tag === "string" ? tag.slice(0, 100) : undefined,
    parameters: boundedParameters({
      type: "object",
      properties: Object.fromEntries([...given].map(([key, { schema }]) => [key, schema])),
      required: [...given].flatMap(([key, { place }]) => (place.isRequired ? [key] : [])),
      additionalProperties: false,
    }),
    returns: returned(own, references),
    permissions: ["network"],
    allowedCallers: isReadOnly ? ["cell", "chain", "host"] : ["cell", "host"],
    isReadOnly,
    isDestructive: method === "delete",
    examples: [],
  };
}

function returned(own: Record<string, unknown>, references: References): string | undefined {
  const responses = isPlain(own.responses) ? own.responses : {};
  const code = Object.keys(responses).find((status) => /^2(?:\d\d|XX)$/i.test(status));
  const response = references.follow(code === undefined ? responses.default : responses[code]);
  const content = isPlain(response?.content) ? response.content : {};
  const media = Object.entries(content).find(([type]) => isJsonType(type))?.[1];
  const described = isPlain(media) ? returnsOf(references.schema(media.schema)) : undefined;
  if (described !== undefined) return described;
  const words = response?.description;
  return typeof words === "string" && words !== "" ? boundedDescription(words) : undefined;
}

export function isJsonType(type: string): boolean {
  return /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type.trim());
}
