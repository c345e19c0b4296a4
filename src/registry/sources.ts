import { join } from "node:path";
import { createSandbox } from "../backends/create-sandbox.js";
import { hostEnvironment } from "../config/environment.js";
import { isPlain } from "../config/layers.js";
import { CellarError } from "../errors.js";
import { checkToolNames } from "./arguments.js";
import type { BuiltinTool } from "./declarations/source.js";
import { functionSource } from "./function-source.js";
import type { RegistryOptions, WebOptions } from "./options.js";
import { sessionBuiltins } from "./session-builtins.js";
import type { RegisteredTool, ToolSource } from "./tool.js";

/** All sources that the options name. What reads each kind is loaded when there is one. */
export async function openSources(options: RegistryOptions): Promise<readonly ToolSource[]> {
  const { tools, files = [], catalogue = false, openApi = [], sources = [] } = options;
  const web = options.web === undefined ? undefined : await openWeb(options.web);
  const builtins = { ...sessionBuiltins(), ...web?.builtins };
  const opened: ToolSource[] = [];
  if (tools !== undefined) opened.push(functionSource(tools));
  if (web !== undefined) opened.push(web.source);
  if (files.length > 0 || catalogue !== false) {
    const { declarationSource } = await import("./declarations/source.js");
    const declared = { open: createSandbox, builtins };
    opened.push(...files.map((file) => declarationSource(file, declared)));
    if (catalogue !== false)
      opened.push(chosen(declarationSource(cataloguePath(), declared), catalogue, [...opened]));
  }
  if (options.mcpServers !== undefined) {
    const { mcpSources } = await import("./mcp/sources.js");
    opened.push(...mcpSources(serversIn(options.mcpServers)));
  }
  if (openApi.length > 0) {
    const { openApiSource } = await import("./openapi/source.js");
    opened.push(...openApi.map(openApiSource));
  }
  opened.push(...sources);
  checkGroups(opened);
  return opened;
}

interface Web {
  readonly source: ToolSource;
  readonly builtins: Readonly<Record<string, BuiltinTool>>;
}

async function openWeb(given: boolean | WebOptions): Promise<Web | undefined> {
  if (given === false) return undefined;
  const { provider, ...limits } = given === true ? {} : given;
  const { WebFetcher } = await import("../web/web-fetcher.js");
  const { WebSearch } = await import("../web/web-search.js");
  const { HttpCalls } = await import("../web/http-calls.js");
  const { webSource } = await import("./web-source.js");
  const { webBuiltins } = await import("./web-builtins.js");
  const parts = {
    fetcher: new WebFetcher(limits),
    search: new WebSearch({ provider }),
    calls: new HttpCalls(limits),
  };
  return { source: webSource(parts), builtins: webBuiltins(parts) };
}

function cataloguePath(): string {
  return join(hostEnvironment().packageRoot, "catalogue", "tools.yaml");
}

/** The tools of a source that were asked for, without those that an earlier source has. */
function chosen(
  source: ToolSource,
  names: true | readonly string[],
  earlier: readonly ToolSource[],
): ToolSource {
  if (names !== true) checkToolNames(names, "the option catalogue");
  return {
    group: source.group,
    async tools(signal) {
      const all = await source.tools(signal);
      if (names !== true) checkKnown(names, all);
      const taken = await Promise.all(
        earlier.map((one) => (one.group === undefined && one !== source ? one.tools(signal) : [])),
      );
      const known = new Set(taken.flat().map(({ name }) => name));
      return all.filter(({ name }) => (names === true || names.includes(name)) && !known.has(name));
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

function checkKnown(names: readonly string[], all: readonly RegisteredTool[]): void {
  const missing = names.filter((name) => !all.some((tool) => tool.name === name));
  if (missing.length === 0) return;
  throw new CellarError("INVALID_CONFIG", `the catalogue has no ${missing.join(", ")}`, {
    remedy: "cellar tools list shows what it has.",
  });
}

/** People have the block itself, or a file around it. */
function serversIn(given: unknown): unknown {
  return isPlain(given) && isPlain(given.mcpServers) ? given.mcpServers : given;
}

function checkGroups(sources: readonly ToolSource[]): void {
  const seen = new Set<string>();
  for (const { group } of sources) {
    if (group === undefined) continue;
    if (seen.has(group)) {
      throw new CellarError("INVALID_CONFIG", `two sources of tools are called ${group}`, {
        remedy: "Give one of them another name.",
      });
    }
    seen.add(group);
  }
}
