import { hostEnvironment, settingLayers } from "../config/environment.js";
import { kindOf } from "../config/kinds.js";
import { CellarError, isCellarError } from "../errors.js";
import type { AgentSandbox, REPLConfig } from "./backend.js";
import { daemonAddress, hasSocket } from "./daemon/address.js";
import { isDaemonAbsent, isRefusal } from "./daemon/refusals.js";
import type { DaemonOptions } from "./daemon/runtime.js";
import type { SessionDir } from "./host/session-dir.js";
import { splitConfig } from "./options.js";
import { sharedDaemon, sharedPyodide, sharedRuntime } from "./shared.js";

const BACKENDS = ["auto", "native", "daemon", "pyodide"] as const;

/**
 * `cold` is for a backend that has to start its Python first, where waiting ahead does not pay;
 * `dir` is for the native one.
 */
export async function openSandbox(
  config: REPLConfig,
  cold: REPLConfig = {},
  dir?: SessionDir,
): Promise<AgentSandbox> {
  if (typeof config !== "object" || config === null) {
    throw new CellarError("INVALID_CONFIG", "the options of a sandbox must be an object", {
      remedy: "Omit them to use the defaults.",
    });
  }
  const { backend = "auto" } = config;
  switch (backend) {
    case "native":
      return await (await sharedRuntime()).createSandbox({ ...config, ...cold }, undefined, dir);
    case "daemon":
      return await openDaemon(config, { starts: true });
    case "pyodide":
      return await openPyodide({ ...config, ...cold });
    case "auto":
      return await openAny(config, cold, dir);
    default:
      throw new CellarError("INVALID_CONFIG", `unknown backend ${shown(backend)}`, {
        remedy: `Use one of: ${BACKENDS.join(", ")}.`,
      });
  }
}

function shown(backend: unknown): string {
  return typeof backend === "string" ? JSON.stringify(backend) : `that is ${kindOf(backend)}`;
}

/** The daemon when it runs and answers, else native when there is a Python, else Pyodide. */
async function openAny(
  config: REPLConfig,
  cold: REPLConfig,
  dir?: SessionDir,
): Promise<AgentSandbox> {
  const fromDaemon = await openRunningDaemon(config);
  if ("sandbox" in fromDaemon) return fromDaemon.sandbox;
  try {
    const runtime = await sharedRuntime();
    return await runtime.createSandbox({ ...config, ...cold }, fromDaemon.reason, dir);
  } catch (error) {
    // A configured Python is not replaced by Pyodide.
    const named = config.python ?? settingLayers().python;
    if (named !== undefined || !isCellarError(error, "PYTHON_UNSUITABLE")) throw error;
    // Nor would the packages of an environment be there.
    if (error.details.environment !== undefined) throw error;
    return await openPyodide({ ...config, ...cold }, `${fromDaemon.reason}; ${error.message}`);
  }
}

async function openRunningDaemon(
  config: REPLConfig,
): Promise<{ readonly sandbox: AgentSandbox } | { readonly reason: string }> {
  try {
    if (!hasSocket(daemonAddress(hostEnvironment().home)))
      return { reason: "no daemon is running" };
    return { sandbox: await openDaemon(config) };
  } catch (error) {
    if (isDaemonAbsent(error)) return { reason: "no daemon is running" };
    if (!isRefusal(error)) throw error;
    return { reason: `not the daemon: ${error.message}` };
  }
}

async function openDaemon(config: REPLConfig, options?: DaemonOptions): Promise<AgentSandbox> {
  try {
    return await (await sharedDaemon()).createSandbox(config, options);
  } catch (error) {
    if (!isCellarError(error, "INVALID_CONFIG")) throw error;
    // The daemon sees what is wrong, and this process where it came from.
    const { resolveSettings } = await import("../config.js");
    resolveSettings(splitConfig(config).options);
    throw error;
  }
}

async function openPyodide(config: REPLConfig, chosen?: string): Promise<AgentSandbox> {
  return await (await sharedPyodide()).createSandbox(config, chosen);
}
