// An MCP server over stdio that misbehaves: how is in its mode, and in the names of its tools.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [mode = "plain", log = ""] = process.argv.slice(2);
const MB = 1024 * 1024;

const note = (text) => log !== "" && appendFileSync(log, `${text}\n`);
const write = (text) => new Promise((resolve) => process.stdout.write(text, resolve));
const send = (message) => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const text = (value) => ({ content: [{ type: "text", text: value }] });
const toolNames = [
  "echo",
  "die",
  "hang",
  "flood-stderr",
  "flood-output",
  "flood-line",
  "chatter",
  "no-message",
  "no-json",
  "number",
  "bad-parts",
  "deep",
  "leak",
  "grow",
  "ask",
];

async function flood(bytes, stream, piece) {
  for (let sent = 0; sent < bytes; sent += piece.length) {
    await new Promise((resolve) => stream.write(piece, resolve));
  }
}

const calls = {
  echo: (id, { value = "" }) => send({ id, result: text(String(value)) }),
  die: () => {
    process.stderr.write(`the last words with ${process.env.API_TOKEN ?? "no token"}\n`, () =>
      process.exit(3),
    );
  },
  hang: (id) => note(`hangs ${id}`),
  "flood-stderr": async (id) => {
    await flood(256 * MB, process.stderr, "x".repeat(MB));
    await send({ id, result: text("survived") });
  },
  "flood-output": () =>
    flood(
      1024 * MB,
      process.stdout,
      `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "y".repeat(MB) } })}\n`,
    ),
  "flood-line": async (id, { megabytes }) => {
    await write('{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"');
    await flood(megabytes * MB, process.stdout, "z".repeat(MB));
    await write(`"}]},"id":${id}}\n`);
  },
  chatter: async (id) => {
    await write("starting up, please wait\n\n[1, 2]\n{broken\n");
    await send({ id: 987654, result: {} });
    await send({ id, result: text("after the noise") });
  },
  "no-message": (id) => write(`${JSON.stringify({ id, result: text("no version") })}\n`),
  "no-json": (id) => write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[}\n`),
  number: (id) => send({ id, result: 5 }),
  "bad-parts": (id) => send({ id, result: { content: [{ type: "image", data: 7 }] } }),
  deep: (id) =>
    write(
      `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"a":${"[".repeat(5000)}${"]".repeat(5000)}}}}\n`,
    ),
  leak: (id) => send({ id, result: text(JSON.stringify({ token: process.env.API_TOKEN })) }),
  grow: async (id) => {
    toolNames.push("grown");
    await send({ method: "notifications/tools/list_changed" });
    await send({ id, result: text("grown") });
  },
  // What a client can be asked for, though this one offers nothing.
  ask: async (id) => {
    await send({
      id: "ask-1",
      method: "sampling/createMessage",
      params: { messages: [], maxTokens: 1 },
    });
    await send({ id, result: text("asked") });
  },
};

const described = (name) => ({ name, inputSchema: { type: "object" } });

/** Pages without an end; names that are one in Python; descriptions and schemas without measure. */
function manyTools(cursor = "0") {
  const start = Number(cursor);
  const tools = Array.from({ length: 50 }, (_, at) => ({
    ...described(`tool.${(start + at) % 400}`),
    description: "d".repeat(at === 0 ? 100_000 : 10),
    ...(at === 1 && { inputSchema: { type: "object", description: "s".repeat(100_000) } }),
    ...(at === 2 && { inputSchema: { type: "string" } }),
  }));
  return { tools: [...tools, { name: 5 }, "nonsense"], nextCursor: String(start + 50) };
}

const handlers = {
  initialize: ({ id, params }) =>
    mode === "mute"
      ? note("asked")
      : send({
          id,
          result: {
            protocolVersion: params.protocolVersion,
            capabilities: { tools: { listChanged: true } },
            serverInfo: { name: "hostile", version: "1" },
          },
        }),
  "tools/list": ({ id, params }) =>
    send({
      id,
      result:
        mode === "many"
          ? manyTools(params?.cursor)
          : { tools: mode === "no-list" ? "none" : toolNames.map(described) },
    }),
  "tools/call": ({ id, params }) => calls[params.name](id, params.arguments ?? {}),
  "notifications/cancelled": ({ params }) => note(`cancelled ${params.requestId}`),
};

note(`start ${process.pid}`);
if (mode === "crash") {
  process.stderr.write("cannot find the configuration\n", () => process.exit(1));
} else {
  if (mode === "stubborn") {
    process.on("SIGTERM", () => {});
    setInterval(() => {}, 1000);
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
      stdio: "inherit",
    });
    note(`child ${child.pid}`);
  }
  if (mode === "deaf") setInterval(() => {}, 1000);
  else {
    createInterface({ input: process.stdin }).on("line", (line) => {
      const message = JSON.parse(line);
      handlers[message.method]?.(message);
    });
  }
}
