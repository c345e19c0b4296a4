import { z } from "zod";
import { callerVariable } from "../../config/environment.js";
import { kindOf } from "../../config/kinds.js";
import { isPlain } from "../../config/layers.js";
import { CellarError } from "../../errors.js";

export interface StdioServer {
  readonly transport: "stdio";
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

export interface HttpServer {
  readonly transport: "http";
  readonly name: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

export type McpServer = StdioServer | HttpServer;

const MOST_SERVERS = 100;
const HTTP_TYPES = ["http", "streamable-http", "streamableHttp"];
const TYPES = ["stdio", ...HTTP_TYPES];
/** `${NAME}`, `${NAME:-what counts without it}`, `${env:NAME}`. */
const VARIABLE = /\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}/g;

const KINDS = new Map([
  ["string", "a text"],
  ["boolean", "true or false"],
  ["array", "a list"],
  ["record", "an object"],
]);

const words = z.record(z.string(), z.string()).default({});
const stdioSchema = z.object({
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: words,
  cwd: z.string().min(1).optional(),
});
const httpSchema = z.object({ url: z.string().min(1), headers: words });
const placeSchema = z.object({
  type: z.string().optional(),
  disabled: z.boolean().optional(),
});

/** The servers of an `mcpServers` block, as clients have it in their settings. */
export function readServers(block: unknown): readonly McpServer[] {
  const servers = isPlain(block) && isWholeFile(block) ? block.mcpServers : block;
  if (!isPlain(servers)) {
    throw new CellarError("INVALID_CONFIG", `mcpServers must be an object, not ${kindOf(block)}`, {
      remedy: 'Write { "name": { "command": "npx", "args": ["…"] } }.',
    });
  }
  const entries = Object.entries(servers);
  if (entries.length > MOST_SERVERS) {
    throw new CellarError(
      "INVALID_CONFIG",
      `mcpServers has ${entries.length} servers, more than ${MOST_SERVERS}`,
    );
  }
  return entries.flatMap(([name, entry]) => readServer(name, entry) ?? []);
}

function isWholeFile(block: Record<string, unknown>): boolean {
  const inner = block.mcpServers;
  return isPlain(inner) && inner.command === undefined && inner.url === undefined;
}

function readServer(name: string, entry: unknown): McpServer | undefined {
  if (!isPlain(entry)) throw refused(name, "", `must be an object, not ${kindOf(entry)}`);
  const { type, disabled } = checked(name, entry, placeSchema);
  if (disabled === true) return undefined;
  if (type === "sse") {
    const remedy =
      "Give the server's address for Streamable HTTP; most have one that ends in /mcp.";
    throw refused(name, "type", 'is "sse", which is not supported', remedy);
  }
  if (type !== undefined && !TYPES.includes(type)) {
    throw refused(name, "type", `must be one of ${TYPES.join(", ")}, not ${JSON.stringify(type)}`);
  }
  const hasCommand = entry.command !== undefined;
  const hasUrl = entry.url !== undefined;
  if (hasCommand && hasUrl && type === undefined) {
    throw refused(name, "url", "cannot stand beside command", "Keep one of them, or give type.");
  }
  if (!hasCommand && !hasUrl) {
    throw refused(name, "command", "is missing", "Give command, or the url of a server.");
  }
  const isHttp = type === undefined ? hasUrl : HTTP_TYPES.includes(type);
  return isHttp ? readHttp(name, entry) : readStdio(name, entry);
}

function readStdio(name: string, entry: Record<string, unknown>): StdioServer {
  const { command, args, env, cwd } = checked(name, entry, stdioSchema);
  return {
    transport: "stdio",
    name,
    command: expanded(name, "command", command),
    args: args.map((arg, at) => expanded(name, `args.${at}`, arg)),
    env: expandedAll(name, "env", env),
    cwd: cwd === undefined ? undefined : expanded(name, "cwd", cwd),
  };
}

function readHttp(name: string, entry: Record<string, unknown>): HttpServer {
  const given = checked(name, entry, httpSchema);
  const text = expanded(name, "url", given.url);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw refused(name, "url", "is not an http or https address");
  }
  if (url.username + url.password !== "") {
    throw refused(name, "url", "has a name or password in it", "Put them into headers.");
  }
  const headers = expandedAll(name, "headers", given.headers);
  for (const [header, value] of Object.entries(headers)) {
    if (!isHeader(header, value)) {
      throw refused(name, `headers.${header}`, "is no valid header; its value is not shown");
    }
  }
  return { transport: "http", name, url, headers };
}

function isHeader(name: string, value: string): boolean {
  try {
    new Headers({ [name]: value });
    return true;
  } catch {
    return false;
  }
}

/** Values are not shown: they may be secrets. */
function checked<T>(name: string, entry: unknown, schema: z.ZodType<T>): T {
  const read = schema.safeParse(entry);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const kind = issue?.code === "invalid_type" ? KINDS.get(issue.expected) : undefined;
  const wanted = kind === undefined ? "is not usable" : `must be ${kind}`;
  throw refused(name, issue?.path.join(".") ?? "", wanted);
}

function expandedAll(
  name: string,
  field: string,
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, expanded(name, `${field}.${key}`, value)]),
  );
}

function expanded(name: string, field: string, text: string): string {
  return text.replace(VARIABLE, (_, variable: string, fallback: string | undefined) => {
    const value = callerVariable(variable) || fallback;
    if (value !== undefined) return value;
    const remedy = `Set the environment variable ${variable}, or write \${${variable}:-default}.`;
    throw refused(name, field, `uses \${${variable}}, which is not set`, remedy);
  });
}

function refused(name: string, field: string, why: string, remedy?: string): CellarError {
  const place = field === "" ? "" : `.${field}`;
  return new CellarError("INVALID_CONFIG", `mcpServers.${name}${place} ${why}`, {
    remedy: remedy ?? "Correct it, or set disabled to true for this server.",
    details: { server: name, field },
  });
}
