import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type CallToolResult, Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { z } from "zod";
import { callerVariable, hostEnvironment, packageVersion } from "../../config/environment.js";
import { CellarError, counted, describeError, isCellarError } from "../../errors.js";
import { remedyFor } from "../../isolation/remedies.js";
import { Notebook } from "../../notebook/notebook.js";
import { EXIT } from "../exit-codes.js";
import { placeOf } from "../options/notebook-place.js";
import { complain, writeJson } from "../terminal/report-error.js";
import { painterFor, withProgress } from "../terminal/terminal.js";
import type { McpOptions } from "./serve.js";

const MAIN = fileURLToPath(new URL("../main.js", import.meta.url));
const OWN_FLAGS: readonly string[] = ["--check", "--json"];
const PATH_FLAGS: readonly string[] = ["--dir", "--python", "--mount"];
const CODE = "6 * 7";
const ANSWER = "42";
/** Characters of what the server says about why it does not start. */
const LONGEST_REASON = 2_000;
/** The first start makes Python ready, which can take its time. */
const PATIENCE = { timeout: 120_000 };

const resultSchema = z.object({ isolation: z.string() });

interface Report {
  readonly server: string;
  readonly protocol: string;
  readonly tools: readonly string[];
  readonly isolation: string;
  readonly milliseconds: number;
  /** What to put into the settings of an agent. */
  readonly command: string;
  readonly args: readonly string[];
}

/** Starts the server as an agent does, and uses it through a client that is not ours. */
export async function checkServer(options: McpOptions): Promise<number> {
  try {
    const report = await withProgress("trying the server…", tryServer(options));
    if (options.json === true) writeJson({ ok: true, ...report });
    else process.stdout.write(describe(report));
    return EXIT.ok;
  } catch (error) {
    const reason = describeError(error);
    const remedy = (isCellarError(error) ? error.remedy : undefined) ?? remedyFor("unknown");
    if (options.json === true) writeJson({ ok: false, reason, remedy });
    else complain(`the server cannot be used: ${reason}`, remedy);
    return EXIT.failed;
  }
}

async function tryServer(options: McpOptions): Promise<Report> {
  const command = process.execPath;
  const flags = process.argv.slice(2).filter((arg) => !OWN_FLAGS.includes(arg));
  const args = [MAIN, ...withWholePaths(flags)];
  const client = new Client({ name: "cellar-check", version: packageVersion() });
  const transport = new StdioClientTransport({
    command,
    args,
    env: environment(),
    stderr: "pipe",
  });
  let said = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-LONGEST_REASON);
  });
  const session = `check-${randomBytes(5).toString("hex")}`;
  try {
    await client.connect(transport, PATIENCE);
    const { tools } = await client.listTools(undefined, PATIENCE);
    const began = performance.now();
    const call = { name: "execute_cell", arguments: { session, code: CODE } };
    const isolation = isolationOf(await client.callTool(call, PATIENCE));
    if (options.json !== true) process.stderr.write(said);
    const { name, version } = client.getServerVersion() ?? { name: "unknown", version: "" };
    return {
      server: `${name} ${version}`,
      protocol: client.getNegotiatedProtocolVersion() ?? "unknown",
      tools: tools.map((tool) => tool.name),
      isolation,
      milliseconds: Math.round(performance.now() - began),
      command,
      args,
    };
  } catch (error) {
    throw said.trim() === "" ? error : toldBy(said.trim(), error);
  } finally {
    await client.close();
    await Notebook.remove({ ...placeOf(options), session }).catch(() => {});
  }
}

/** What a server said that ended is why; that its connection is closed then says nothing more. */
function toldBy(said: string, cause: unknown): CellarError {
  const [, message = said, remedy] = /^(?:cellar: )?(.*?)(?:\n {2}fix: (.*))?$/s.exec(said) ?? [];
  return new CellarError("START_FAILED", message, { remedy, cause });
}

/** An agent starts the server in a folder of its own choice. */
function withWholePaths(args: readonly string[]): string[] {
  return args.map((arg, at) => {
    const before = args[at - 1] ?? "";
    if (PATH_FLAGS.includes(before)) return resolve(arg);
    const [, flag = "", value = ""] = /^(--\w+)=(.*)$/s.exec(arg) ?? [];
    return PATH_FLAGS.includes(flag) ? `${flag}=${resolve(value)}` : arg;
  });
}

function isolationOf({ content, structuredContent, isError }: CallToolResult): string {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  if (isError === true || !text.includes(ANSWER)) {
    throw new CellarError("START_FAILED", `the cell ${CODE} gave ${JSON.stringify(text)}`);
  }
  return resultSchema.parse(structuredContent).isolation;
}

/** Our whole environment: it may contain settings, and a client would pass only a few variables. */
function environment(): Record<string, string> {
  const names = hostEnvironment().environmentNames;
  return Object.fromEntries(names.map((name) => [name, callerVariable(name) ?? ""]));
}

function describe({ server, protocol, tools, isolation, ...rest }: Report): string {
  const paint = painterFor(process.stdout);
  const lines = [
    `${server} speaks MCP ${protocol}`,
    `${counted(tools.length, "tool")}: ${tools.join(", ")}`,
    `a cell ran: ${CODE} is ${ANSWER} (${rest.milliseconds} ms)`,
    `isolation ${isolation}`,
  ].map((line) => `${paint("green", "✓")} ${line}\n`);
  const { command, args } = rest;
  const settings = JSON.stringify({ mcpServers: { cellar: { command, args } } });
  return `${lines.join("")}\nFor the settings of your agent:\n${settings}\n`;
}
