import type { Mount, REPLConfig } from "../../backends/backend.js";
import type { IsolationLevel } from "../../isolation/levels.js";

export const POLICIES = ["off", "ast", "restricted"] as const;
export const BACKENDS = ["auto", "native", "daemon", "pyodide"] as const;

export interface SandboxOptions {
  readonly backend?: (typeof BACKENDS)[number];
  readonly timeout?: number;
  readonly python?: string;
  readonly memory?: number;
  readonly minIsolation?: IsolationLevel;
  readonly mount?: readonly Mount[];
  readonly env?: Readonly<Record<string, string>>;
  readonly preload?: "full" | "standard" | "none";
  readonly maxOutput?: number;
  readonly policy?: (typeof POLICIES)[number];
}

export function toConfig(options: SandboxOptions): REPLConfig {
  const config: REPLConfig = { mounts: options.mount, env: options.env };
  if (options.backend !== undefined) config.backend = options.backend;
  if (options.timeout !== undefined) config.timeout = options.timeout;
  if (options.python !== undefined) config.python = options.python;
  if (options.minIsolation !== undefined) config.minIsolation = options.minIsolation;
  if (options.preload !== undefined) config.preload = options.preload;
  if (options.maxOutput !== undefined) config.maxOutputLength = options.maxOutput;
  if (options.policy !== undefined) config.policy = options.policy;
  if (options.memory !== undefined) config.limits = { memoryMb: options.memory };
  return config;
}
