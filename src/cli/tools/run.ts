import { readFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { parametersOf, signatureOf } from "../../backends/host-tools/parameters.js";
import { counted, describeError } from "../../errors.js";
import type { ApprovalAnswer, ApprovalRequest } from "../../registry/control/approvals.js";
import { readDeclarations } from "../../registry/declarations/source.js";
import { ToolRegistry } from "../../registry/registry.js";
import { ToolError } from "../../registry/tool.js";
import { EXIT } from "../exit-codes.js";
import { complain, invalidInput, writeJson } from "../terminal/report-error.js";
import { GuestText, isTerminal, painterFor, withProgress } from "../terminal/terminal.js";
import { argumentsText, lineText, printable, proseText } from "./text.js";

export interface SourceFlags {
  readonly file?: readonly string[];
  readonly mcpConfig?: string;
  readonly catalogue?: true;
  readonly json?: true;
}

export type ListFlags = SourceFlags;
export type CallFlags = SourceFlags & { readonly yes?: true };

export async function listTools(pattern = "*", flags: ListFlags): Promise<number> {
  await using registry = await openRegistry(flags);
  const found = await withProgress("asking for tools…", registry.search(pattern));
  if (flags.json === true) {
    writeJson({
      tools: found.map(({ name, tool: { run: _, asks: __, ...told } }) => ({ ...told, name })),
    });
    return EXIT.ok;
  }
  const paint = painterFor(process.stdout);
  for (const { name, tool } of found) {
    const signature = signatureOf(
      name,
      parametersOf(tool.parameters) ?? { listed: [], open: true },
    );
    const about = tool.description.split("\n", 1)[0] ?? "";
    process.stdout.write(`${paint("bold", lineText(signature))}\n    ${lineText(about)}\n`);
  }
  if (found.length > 0) return EXIT.ok;
  complain(`no tool matches ${pattern}`, "cellar tools list shows all.");
  return EXIT.failed;
}

export async function callTool(
  name: string,
  given: string | undefined,
  flags: CallFlags,
): Promise<number> {
  const read = readArguments(given);
  await using registry = await openRegistry(flags, flags.yes === true);
  try {
    const { value, displays = [] } = await withProgress(
      `calling ${name}…`,
      registry.call(name, read),
    );
    if (flags.json === true) writeJson({ value: printable(value), displays });
    else show(value);
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const { code, message, remedy, isRetryable } = error;
    if (flags.json === true)
      writeJson({ error: { code, message, remedy: remedy ?? null, isRetryable } });
    else complain(`${proseText(message)} (${code})`, remedy && proseText(remedy));
    return code === "UNKNOWN_TOOL" || code === "BAD_ARGUMENTS" ? EXIT.usage : EXIT.failed;
  }
}

export async function checkFile(
  file: string,
  { json }: Pick<SourceFlags, "json">,
): Promise<number> {
  const { tools } = await readDeclarations(file);
  if (json === true) writeJson({ ok: true, tools: tools.map((tool) => tool.declaration.name) });
  else process.stdout.write(`${file}: ${counted(tools.length, "tool")}, no mistakes\n`);
  return EXIT.ok;
}

function openRegistry(
  { file, mcpConfig, catalogue }: SourceFlags,
  isApproved = false,
): Promise<ToolRegistry> {
  const isAlone = file === undefined && mcpConfig === undefined;
  return ToolRegistry.open({
    files: file,
    mcpServers: mcpConfig === undefined ? undefined : readServers(mcpConfig),
    catalogue: catalogue === true || isAlone,
    onApproval: isApproved ? () => true : askPerson,
  });
}

function readServers(path: string): unknown {
  try {
    const read: unknown = JSON.parse(readFileSync(path, "utf8"));
    return read;
  } catch (error) {
    throw invalidInput(
      `${path} cannot be read as JSON: ${describeError(error)}`,
      "Give the file of your MCP client, with an mcpServers block.",
    );
  }
}

function readArguments(given: string | undefined): unknown {
  const text = given === "-" ? readFileSync(0, "utf8") : (given ?? "{}");
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidInput(
      `the arguments are no JSON: ${describeError(error)}`,
      `Write them as '{"name": "value"}'.`,
    );
  }
}

/** Where nobody sits at a terminal, the answer is no. */
async function askPerson(
  { name, risk, arguments: given }: ApprovalRequest,
  { signal }: { readonly signal: AbortSignal },
): Promise<ApprovalAnswer> {
  if (!isTerminal(process.stdin) || !isTerminal(process.stderr)) {
    return { approved: false, reason: `it is ${risk}, and nobody sits at a terminal: use --yes` };
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const question = `${name} is ${risk}. It would be called with\n${argumentsText(given)}\nRun it? [y/n/always] `;
    const answer = (await asking.question(question, { signal })).trim().toLowerCase();
    if (answer === "always") return { approved: true, always: true };
    return answer === "y" || answer === "yes" ? { approved: true } : { approved: false };
  } finally {
    asking.close();
  }
}

/** Colours of a result end with it. */
function show(value: unknown): void {
  const isText = typeof value === "string" || typeof value === "bigint";
  const text = isText ? String(value) : JSON.stringify(printable(value), null, 2);
  const guest = new GuestText(process.stdout);
  guest.write(`${text}\n`);
  guest.finish();
}
