import { statSync } from "node:fs";
import { resolve } from "node:path";
import { unlessAborted } from "../concurrency/abort.js";
import { keepingAlive } from "../concurrency/keep-alive.js";
import {
  checkNames,
  checkPlain,
  checkSignal,
  type OptionNames,
  requireFunction,
  requireList,
  requireOptions,
} from "../config/kinds.js";
import { CellarError } from "../errors.js";
import type { Mount } from "../isolation/bwrap.js";
import type { ISandbox, REPLConfig } from "./backend.js";
import { prepareTools } from "./host-tools/prepared-tools.js";
import { type Callbacks, guardCallbacks } from "./session/cell/callbacks.js";

/** A caller's wishes, taken apart: settings to be resolved, folders to be shown, functions to call. */
export interface Wishes {
  readonly options: object;
  readonly mounts: readonly Mount[];
  readonly callbacks: Callbacks;
}

export function splitConfig(config: REPLConfig): Wishes {
  const { backend: _, mounts, env, signal, tools, private: isPrivate = false, ...rest } = config;
  const { onStdout, onStderr, onBackground, onDisplay, onLLMQuery, onRLMQuery, ...options } = rest;
  checkPlain(options);
  checkSignal(signal);
  checkPrivate(isPrivate, options.network);
  if (signal?.aborted === true) {
    throw new CellarError("ABORTED", "the start was aborted", { cause: signal.reason });
  }
  return {
    options: isPrivate ? { ...options, network: "none" } : options,
    mounts: mounts === undefined ? [] : requireList("mounts", mounts).map(checkMount),
    callbacks: {
      env: checkEnvironment(env),
      ...guardCallbacks({ onStdout, onStderr, onBackground, onDisplay }),
      ...checkQueries({ onLLMQuery, onRLMQuery }),
      tools: prepareTools(tools, { isPrivate: () => isPrivate }),
    },
  };
}

function checkPrivate(isPrivate: unknown, network: unknown): void {
  if (typeof isPrivate !== "boolean") {
    throw new CellarError("INVALID_CONFIG", `private must be true or false, not ${isPrivate}`);
  }
  if (!isPrivate || network === undefined || network === "none") return;
  throw new CellarError("INVALID_CONFIG", "a private session has no network, but network is set", {
    remedy: "Leave out network, or private.",
  });
}

export function checkRuntime<T extends { readonly createSandbox: unknown }>(
  runtime: T | undefined,
): T | undefined {
  if (runtime !== undefined) requireFunction("runtime.createSandbox", runtime?.createSandbox);
  return runtime;
}

function checkQueries(queries: Pick<REPLConfig, "onLLMQuery" | "onRLMQuery">): typeof queries {
  for (const [name, query] of Object.entries(queries)) {
    if (query === undefined || typeof query === "function") continue;
    throw new CellarError("INVALID_CONFIG", `${name} must be a function`);
  }
  return queries;
}

const MOUNT_OPTIONS: OptionNames<Mount> = { host: true, guest: true, readonly: true };

function checkMount(mount: Mount | NonNullable<REPLConfig["mounts"]>[number]): Mount {
  const given = checkNames("a mount", requireOptions("a mount", mount), MOUNT_OPTIONS);
  const { host, guest, readonly = true } = given;
  if (typeof host !== "string" || typeof guest !== "string") {
    throw new CellarError("INVALID_CONFIG", "a mount needs host and guest, two paths");
  }
  const path = resolve(host);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) {
    throw new CellarError("INVALID_CONFIG", `the mount's folder ${path} does not exist`, {
      remedy: "Make the folder first, or name one that is there.",
    });
  }
  return { host: path, guest, readonly };
}

function checkEnvironment(env: REPLConfig["env"]): REPLConfig["env"] {
  if (env === undefined) return undefined;
  for (const [name, value] of Object.entries(requireOptions("env", env))) {
    if (!/^[A-Za-z_]\w*$/.test(name) || typeof value !== "string" || value.includes("\0")) {
      throw new CellarError(
        "INVALID_CONFIG",
        `env: ${JSON.stringify(name)} is not a valid variable name, or its value is not a string without NUL`,
      );
    }
  }
  return env;
}

export function abortable<T extends ISandbox>(
  start: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const work = unlessAborted(start, signal, (cause) => {
    start.then(
      (sandbox) => sandbox.destroy(),
      () => {},
    );
    return new CellarError("ABORTED", "the start was aborted", { cause });
  });
  return keepingAlive(work);
}
