import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Transport2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { z } from "zod";
import { MAIN, sandboxAbsence } from "../support/command-line.js";

/** A picture of one pixel, without a library that draws. */
export const DRAW = `
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
class Dot:
    def _repr_png_(self):
        head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
        return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head)
            + chunk(b"IDAT", zlib.compress(b"\\0\\xff\\0\\0")) + chunk(b"IEND", b""))
Dot()
`;

export const TABLE = `import pandas
pandas.DataFrame({"city": ["Ulm", "Rom"], "size": [1, 2]})`;

/** Why there is no table to be had, where there is none. */
export function tableAbsence(text: string): string | undefined {
  return text.includes("No module named 'pandas'") ? "pandas is not installed" : undefined;
}

const contentSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("image"), data: z.string(), mimeType: z.string() }),
  z.object({
    type: z.literal("resource_link"),
    uri: z.string(),
    name: z.string(),
    mimeType: z.string(),
    size: z.number(),
  }),
]);

const resultSchema = z.object({
  content: z.array(contentSchema),
  structuredContent: z
    .looseObject({ session: z.string().optional(), isolation: z.string() })
    .optional(),
  isError: z.boolean().optional(),
});

const toolSchema = z.object({
  name: z.string(),
  title: z.string(),
  description: z.string(),
  inputSchema: z.looseObject({ type: z.literal("object"), additionalProperties: z.boolean() }),
  outputSchema: z.looseObject({ type: z.literal("object") }),
  annotations: z.object({
    readOnlyHint: z.boolean(),
    destructiveHint: z.boolean(),
    idempotentHint: z.boolean(),
    openWorldHint: z.boolean(),
  }),
});

const readSchema = z.object({
  contents: z.tuple([
    z.object({
      uri: z.string(),
      mimeType: z.string(),
      text: z.string().optional(),
      blob: z.string().optional(),
    }),
  ]),
});

const toolsSchema = z.object({ tools: z.array(toolSchema) });
const listSchema = z.object({
  resources: z.array(z.object({ uri: z.string(), name: z.string() })),
  nextCursor: z.string().optional(),
});
const templatesSchema = z.object({
  resourceTemplates: z.array(z.object({ uriTemplate: z.string() })),
});
const promptsSchema = z.object({ prompts: z.array(z.object({ name: z.string() })) });
const promptSchema = z.object({ messages: z.array(z.object({ content: contentSchema })) });

export type CallResult = z.infer<typeof resultSchema>;

export interface CallOptions {
  signal?: AbortSignal;
  onprogress?: (progress: { progress: number; message?: string | undefined }) => void;
}

/** What both packages call the same. */
interface Client {
  getInstructions(): string | undefined;
  listTools(): Promise<unknown>;
  listResources(params?: { cursor: string }): Promise<unknown>;
  listResourceTemplates(): Promise<unknown>;
  readResource(params: { uri: string }): Promise<unknown>;
  listPrompts(): Promise<unknown>;
  getPrompt(params: { name: string }): Promise<unknown>;
  close(): Promise<void>;
}

interface Ways {
  readonly revision: string;
  readonly pid: number | null;
  readonly call: (name: string, input: object, options: CallOptions) => Promise<unknown>;
  /** Hears which resources changed; "list" stands for the list of them. */
  readonly watch: (uris: readonly string[], hear: (what: string) => void) => Promise<void>;
}

/** What the tests want of a client, whichever it is. */
export class Agent {
  readonly #client: Client;
  readonly #ways: Ways;

  constructor(client: Client, ways: Ways) {
    this.#client = client;
    this.#ways = ways;
  }

  get revision(): string {
    return this.#ways.revision;
  }

  get pid(): number {
    const { pid } = this.#ways;
    if (pid === null) throw new Error("the server has no process");
    return pid;
  }

  get instructions(): string {
    return this.#client.getInstructions() ?? "";
  }

  async tools() {
    return toolsSchema.parse(await this.#client.listTools()).tools;
  }

  async call(name: string, input: object, options: CallOptions = {}): Promise<CallResult> {
    return resultSchema.parse(await this.#ways.call(name, input, options));
  }

  async execute(session: string, code: string, options: CallOptions = {}): Promise<CallResult> {
    return await this.call("execute_cell", { session, code }, options);
  }

  async resources(cursor?: string) {
    const params = cursor === undefined ? undefined : { cursor };
    return listSchema.parse(await this.#client.listResources(params));
  }

  async templates() {
    const found = templatesSchema.parse(await this.#client.listResourceTemplates());
    return found.resourceTemplates.map(({ uriTemplate }) => uriTemplate);
  }

  async read(uri: string) {
    return readSchema.parse(await this.#client.readResource({ uri })).contents[0];
  }

  async prompt() {
    const { prompts } = promptsSchema.parse(await this.#client.listPrompts());
    const [name = "", ...others] = prompts.map((prompt) => prompt.name);
    const { messages } = promptSchema.parse(await this.#client.getPrompt({ name }));
    return { name, others, text: textOf(messages.map(({ content }) => content)) };
  }

  async watch(uris: readonly string[]): Promise<readonly string[]> {
    const heard: string[] = [];
    await this.#ways.watch(uris, (what) => heard.push(what));
    return heard;
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

export function textOf(content: CallResult["content"]): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

/** Set flags as a user would in the settings of a client. */
export function commandFor(dir: string, args: readonly string[]) {
  const own = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return {
    command: process.execPath,
    args: [MAIN, "mcp", "--dir", dir, "--preload", "none", ...args],
    env: Object.fromEntries(own),
    stderr: "ignore" as const,
  };
}

const CLIENT = { name: "test", version: "1.0.0" };
const PATIENCE = { timeout: 50_000 };
const UPDATED = "notifications/resources/updated";
const LIST_CHANGED = "notifications/resources/list_changed";

type Connect = (dir: string, args: readonly string[]) => Promise<Agent>;

const connectV1: Connect = async (dir, args) => {
  let revision = "";
  const transport = Object.assign(new Transport1(commandFor(dir, args)), {
    setProtocolVersion: (version: string) => {
      revision = version;
    },
  });
  const client = new Client1(CLIENT);
  await client.connect(transport, PATIENCE);
  return new Agent(client, {
    revision,
    pid: transport.pid,
    call: (name, input, options) =>
      client.callTool({ name, arguments: { ...input } }, undefined, { ...PATIENCE, ...options }),
    watch: async (uris, hear) => {
      client.fallbackNotificationHandler = async ({ method, params }) => {
        if (method === UPDATED) hear(String(params?.uri));
        if (method === LIST_CHANGED) hear("list");
      };
      for (const uri of uris) await client.subscribeResource({ uri });
    },
  });
};

function connectV2(pin?: string): Connect {
  return async (dir, args) => {
    const transport = new Transport2(commandFor(dir, args));
    const client = new Client2(
      CLIENT,
      pin === undefined ? {} : { versionNegotiation: { mode: { pin } } },
    );
    await client.connect(transport, PATIENCE);
    return new Agent(client, {
      revision: client.getNegotiatedProtocolVersion() ?? "",
      pid: transport.pid,
      call: (name, input, options) =>
        client.callTool({ name, arguments: { ...input } }, { ...PATIENCE, ...options }),
      watch: async (uris, hear) => {
        client.setNotificationHandler(UPDATED, ({ params }) => hear(params.uri));
        client.setNotificationHandler(LIST_CHANGED, () => hear("list"));
        if (pin === undefined) {
          for (const uri of uris) await client.subscribeResource({ uri });
        } else {
          await client.listen({ resourcesListChanged: true, resourceSubscriptions: [...uris] });
        }
      },
    });
  };
}

export const CLIENTS = [
  { name: "the v1 client", revision: "2025-11-25", connect: connectV1 },
  { name: "the v2 client, 2025", revision: "2025-11-25", connect: connectV2() },
  { name: "the v2 client, 2026", revision: "2026-07-28", connect: connectV2("2026-07-28") },
] as const;

/** Servers of a test file: notebooks in a folder of their own, clients closed after each test. */
export class AgentFixture {
  readonly #open: Agent[] = [];
  readonly #connect: Connect;
  #common: Promise<Agent> | undefined;
  #dir = "";

  constructor(connect: Connect) {
    this.#connect = connect;
    let absence: string | undefined;
    beforeAll(async () => {
      absence = await sandboxAbsence();
      this.#dir = mkdtempSync(join(tmpdir(), "cellar-mcp-"));
    });
    beforeEach((context) => {
      if (absence !== undefined) context.skip(absence);
    });
    afterEach(async () => {
      await Promise.all(this.#open.splice(0).map((agent) => agent.close()));
    });
    afterAll(async () => {
      await (await this.#common)?.close();
      rmSync(this.#dir, { recursive: true, force: true, maxRetries: 10 });
    });
  }

  /** One for all tests, for a start takes longer than most of them. */
  common(): Promise<Agent> {
    this.#common ??= this.#begin([]);
    return this.#common;
  }

  /** One whose notebooks are those of this user. */
  async user(name: string): Promise<Agent> {
    const agent = await this.#begin(["--user", name]);
    this.#open.push(agent);
    return agent;
  }

  /** A client that has seen the tools holds every result against their schemas. */
  async #begin(args: readonly string[]): Promise<Agent> {
    const agent = await this.#connect(this.#dir, args);
    await agent.tools();
    return agent;
  }
}
