import { z } from "zod";
import { callerVariable } from "../../config/environment.js";
import { CellarError } from "../../errors.js";
import { Secrets } from "../source/plain-value.js";

/** The secret itself, or the name of the environment variable that has it. */
export type Secret = string | { readonly env: string };

/** What the host adds to each request. Python never sees it. */
export type OpenApiCredentials =
  | { readonly bearer: Secret }
  | { readonly basic: { readonly username: string; readonly password: Secret } }
  | { readonly header: { readonly name: string; readonly value: Secret } }
  | { readonly query: { readonly name: string; readonly value: Secret } };

const secret = z.union([z.string().min(1), z.strictObject({ env: z.string().min(1) })]);
const named = z.strictObject({ name: z.string().min(1), value: secret });
const credentialsSchema = z.union([
  z.strictObject({ bearer: secret }),
  z.strictObject({ basic: z.strictObject({ username: z.string(), password: secret }) }),
  z.strictObject({ header: named }),
  z.strictObject({ query: named }),
]);

/** What is placed into a request, and what must not be seen of it. */
export interface PlacedCredentials {
  readonly header: readonly [name: string, value: string] | undefined;
  readonly query: readonly [name: string, value: string] | undefined;
  readonly secrets: Secrets;
}

/** Fails for what is of no known form, without showing it. */
export function checkCredentials(name: string, credentials: OpenApiCredentials | undefined): void {
  if (credentials === undefined || credentialsSchema.safeParse(credentials).success) return;
  throw new CellarError("INVALID_CONFIG", `the credentials of ${name} have no known form`, {
    remedy:
      "Give { bearer }, { basic: { username, password } }, { header: { name, value } } or " +
      "{ query: { name, value } }; a value is a text or { env: NAME }.",
  });
}

/** Whether a parameter of the document is the one that the credentials set. */
export function isSetBy(
  credentials: OpenApiCredentials | undefined,
  place: "header" | "query",
  name: string,
): boolean {
  if (credentials === undefined) return false;
  const lower = name.toLowerCase();
  if (place === "query") return "query" in credentials && credentials.query.name === name;
  return "header" in credentials && credentials.header.name.toLowerCase() === lower;
}

/** Variables are read at each request, so that a new secret needs no restart. */
export function placeCredentials(
  name: string,
  credentials: OpenApiCredentials | undefined,
): PlacedCredentials {
  const nothing = { header: undefined, query: undefined };
  if (credentials === undefined) return { ...nothing, secrets: new Secrets([]) };
  if ("bearer" in credentials) {
    const token = read(name, credentials.bearer);
    const header = ["authorization", `Bearer ${token}`] as const;
    return { ...nothing, header, secrets: new Secrets([token]) };
  }
  if ("basic" in credentials) {
    const password = read(name, credentials.basic.password);
    const pair = Buffer.from(`${credentials.basic.username}:${password}`).toString("base64");
    const header = ["authorization", `Basic ${pair}`] as const;
    return { ...nothing, header, secrets: new Secrets([pair, password]) };
  }
  if ("header" in credentials) {
    const value = read(name, credentials.header.value);
    const [, last = ""] = /^\w+ (.+)$/.exec(value) ?? [];
    const header = [credentials.header.name, value] as const;
    return { ...nothing, header, secrets: new Secrets([value, last]) };
  }
  const value = read(name, credentials.query.value);
  const query = [credentials.query.name, value] as const;
  return { ...nothing, query, secrets: new Secrets([value]) };
}

function read(name: string, secret: Secret): string {
  if (typeof secret === "string") return secret;
  const value = callerVariable(secret.env);
  if (value) return value;
  throw new CellarError(
    "INVALID_CONFIG",
    `the credentials of ${name} are in ${secret.env}, which is not set`,
    {
      remedy: `Set the environment variable ${secret.env}.`,
    },
  );
}
