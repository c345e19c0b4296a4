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

const SAME_NAMES = ["backend", "timeout", "python", "minIsolation", "preload", "policy"] as const;

export function toConfig(options: SandboxOptions): REPLConfig {
  const { mount: mounts, env, memory, maxOutput } = options;
  const same = SAME_NAMES.filter((name) => options[name] !== undefined);
  return {
    ...{ mounts, env },
    ...Object.fromEntries(same.map((name) => [name, options[name]])),
    ...(maxOutput !== undefined && { maxOutputLength: maxOutput }),
    ...(memory !== undefined && { limits: { memoryMb: memory } }),
  };
}
