import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const LIMIT_MS = 60_000;
const DOT =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const DRAWING = `import base64
class Dot:
    def _repr_png_(self):
        return base64.b64decode("${DOT}")
Dot()`;

/** What an agent does with the installed package's MCP server. */
export async function tryServer(visit, args = []) {
  const agent = await connect(visit, args);
  if (agent === undefined) return;
  const { client, close } = agent;
  try {
    await visit.task("MCP: tools to run cells, list and delete notebooks", async () => {
      const names = (await client.listTools(undefined, { timeout: LIMIT_MS })).tools.map(
        ({ name }) => name,
      );
      const wanted = ["execute_cell", "list_notebooks", "delete_notebook"];
      const missing = wanted.filter((name) => !names.includes(name));
      if (missing.length > 0) return { expected: wanted.join(", "), got: names.join(", ") };
    });
    await visit.task(
      "MCP: the second cell has the first one's variable, without a session",
      async () => {
        const first = await execute(client, "df = 41");
        const second = await execute(client, "df + 1");
        const text = wordsOf(second);
        if (
          second.isError !== true &&
          /\b42\b/.test(text) &&
          sessionOf(first) === sessionOf(second)
        )
          return;
        return { expected: "42, and the same session twice", got: `${wordsOf(first)}\n${text}` };
      },
    );
    await visit.task("MCP: an image is shown, and read as a resource", async () => {
      const drawn = await execute(client, DRAWING);
      const shown = drawn.content.find(({ type }) => type === "image");
      const [uri] = /notebook:\/\/[^\s\]]+/.exec(wordsOf(drawn)) ?? [];
      if (uri === undefined) return { expected: "an image and its address", got: wordsOf(drawn) };
      const { contents } = await client.readResource({ uri }, { timeout: LIMIT_MS });
      const read = { shown: shown?.data, mime: contents[0]?.mimeType, blob: contents[0]?.blob };
      const isRead = read.shown === DOT && read.mime === "image/png" && read.blob === DOT;
      if (!isRead) return { expected: `the image from ${uri}`, got: JSON.stringify(read) };
    });
  } finally {
    await close();
  }
}

async function connect(visit, args) {
  const { machine } = visit;
  const command = join(machine.project, "node_modules", ".bin", "cellar");
  const [file, ...words] = machine.words([command, "mcp", ...args]);
  const transport = new StdioClientTransport({
    command: file,
    args: words,
    env: machine.env,
    stderr: "pipe",
  });
  let told = "";
  transport.stderr?.on("data", (text) => {
    told += text;
  });
  const client = new Client({ name: "trial", version: "1.0.0" });
  let forget = () => {};
  const close = async () => {
    await client.close();
    forget();
  };
  const isConnected = await visit.task("MCP: a client connects", async () => {
    const connected = client.connect(transport, { timeout: LIMIT_MS });
    forget = machine.watch(transport.pid);
    try {
      await connected;
    } catch (error) {
      return { expected: "a connection", got: `${error.message}\n${told.trim()}` };
    }
  });
  if (isConnected) return { client, close };
  await close();
  return undefined;
}

function execute(client, code) {
  return client.callTool({ name: "execute_cell", arguments: { code } }, undefined, {
    timeout: LIMIT_MS,
  });
}

function wordsOf({ content }) {
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

function sessionOf({ structuredContent }) {
  return structuredContent?.session;
}
