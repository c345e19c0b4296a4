import { isPlain } from "../../config/layers.js";
import { ToolError } from "../tool.js";
import type { PlacedCredentials } from "./credentials.js";
import type { Operation, Place } from "./operation.js";

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string | undefined;
}

type Given = Readonly<Record<string, unknown>>;

/** The request that a call stands for; nothing in its arguments can lead it elsewhere. */
export function requestOf(
  { method, path, places }: Operation,
  given: Given,
  base: URL,
  credentials: PlacedCredentials,
): HttpRequest {
  checkNames(places, given);
  const values = [...places].flatMap(([name, place]) => {
    const value = ownOf(given, name);
    return value === undefined || (value === null && place.in !== "body")
      ? []
      : [{ name, place, value }];
  });
  const url = urlOf(base, path, values);
  const headers = new Headers({ accept: "application/json, text/*;q=0.8, */*;q=0.1" });
  for (const { name, place, value } of values) {
    if (place.in === "query") addQuery(url.searchParams, place, value);
    if (place.in === "header") setHeader(headers, name, place, value);
  }
  const body = bodyOf(values);
  if (body !== undefined) headers.set("content-type", "application/json");
  const { header, query } = credentials;
  if (header !== undefined) setCredential(headers, header);
  if (query !== undefined) url.searchParams.set(...query);
  return { method: method.toUpperCase(), url, headers, body };
}

interface Placed {
  readonly name: string;
  readonly place: Place;
  readonly value: unknown;
}

/** A parameter may be called like something that every object has. */
function ownOf(given: Given, name: string): unknown {
  return Object.hasOwn(given, name) ? given[name] : undefined;
}

function checkNames(places: Operation["places"], given: Given): void {
  const unknown = Object.keys(given).filter((name) => !places.has(name));
  const missing = [...places].filter(
    ([name, { isRequired }]) => isRequired && ownOf(given, name) === undefined,
  );
  const known = [...places.keys()].join(", ") || "none";
  if (unknown.length > 0) {
    const shown = unknown.slice(0, 5).join(", ").slice(0, 200);
    throw badArguments(`there is no argument ${shown}; those known are: ${known}`);
  }
  if (missing.length > 0) {
    throw badArguments(`missing: ${missing.map(([name]) => name).join(", ")}`);
  }
}

function urlOf(base: URL, path: string, values: readonly Placed[]): URL {
  const filled = path.replace(/\{([^{}]*)\}/g, (_, key: string) => {
    const found = values.find(({ place }) => place.in === "path" && place.name === key);
    if (found === undefined) throw badArguments(`nothing is known of {${key}} in ${path}`);
    const text = encodeURIComponent(simple(found.place, found.value).toWellFormed());
    if (text === "") throw badArguments(`${found.name} must not be empty`);
    return text;
  });
  const whole = `${base.pathname.replace(/\/+$/, "")}${filled}`;
  const url = new URL(base);
  url.pathname = whole;
  // A part that is . or .. would lead to another operation.
  const isMoved = whole.split("/").some((part) => /^(?:\.|%2e){1,2}$/i.test(part));
  if (isMoved || url.origin !== base.origin) {
    throw badArguments("an argument in the path must not be . or ..");
  }
  return url;
}

function addQuery(query: URLSearchParams, place: Place, value: unknown): void {
  const { name = "", style = "form", explode = style === "form" } = place;
  if (place.isJson) query.append(name, JSON.stringify(value));
  else if (Array.isArray(value)) {
    if (explode) for (const item of value) query.append(name, textOf(item));
    else query.append(name, value.map(textOf).join(separatorOf(style)));
  } else if (isPlain(value)) {
    for (const [key, item] of Object.entries(value)) {
      if (style === "deepObject") query.append(`${name}[${key}]`, textOf(item));
      else if (explode) query.append(key, textOf(item));
    }
    if (style !== "deepObject" && !explode) query.append(name, simple(place, value));
  } else query.append(name, textOf(value));
}

function separatorOf(style: string): string {
  if (style === "spaceDelimited") return " ";
  return style === "pipeDelimited" ? "|" : ",";
}

function setHeader(headers: Headers, name: string, place: Place, value: unknown): void {
  try {
    headers.set(place.name ?? "", place.isJson ? JSON.stringify(value) : simple(place, value));
  } catch {
    throw badArguments(`${name} has characters that a header cannot have`);
  }
}

/** The value is not shown. */
function setCredential(headers: Headers, [name, value]: readonly [string, string]): void {
  try {
    headers.set(name, value);
  } catch {
    throw new ToolError("FAILED", "the credentials have characters that a header cannot have");
  }
}

/** Lists as `a,b`, objects as `key,value` or `key=value`. */
function simple({ explode = false, isJson }: Place, value: unknown): string {
  if (isJson) return JSON.stringify(value);
  if (Array.isArray(value)) return value.map(textOf).join(",");
  if (!isPlain(value)) return textOf(value);
  const between = explode ? "=" : ",";
  return Object.entries(value)
    .map(([key, item]) => `${key}${between}${textOf(item)}`)
    .join(",");
}

function textOf(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

function bodyOf(values: readonly Placed[]): string | undefined {
  const parts = values.filter(({ place }) => place.in === "body");
  const whole = parts.find(({ place }) => place.name === undefined);
  if (whole !== undefined) return JSON.stringify(whole.value);
  if (parts.length === 0) return undefined;
  return JSON.stringify(Object.fromEntries(parts.map(({ place, value }) => [place.name, value])));
}

function badArguments(text: string): ToolError {
  return new ToolError("BAD_ARGUMENTS", text);
}
