/**
 * The keys of the settings' schema. A list of their own, since the daemon's client reads settings without zod,
 * which takes as long to load as the rest of it; config.ts does not compile when the two differ.
 */
export const SETTING_NAMES = [
  "python",
  "preload",
  "poolSize",
  "minIsolation",
  "timeout",
  "grace",
  "maxOutputLength",
  "checkpoints",
  "checkpointInterval",
  "checkpointMethod",
  "keepCheckpoints",
  "queryConcurrency",
  "queryTimeout",
  "queryTotal",
  "daemonIdle",
  "useWorker",
  "spares",
  "indexURL",
  "packages",
  "maxCells",
  "stateMaxSizeMb",
  "outputsMaxSizeMb",
  "keepSnapshots",
  "policy",
  "sanitise",
  "agent",
  "network",
  "pids",
  "privateFiles",
  "limits",
] as const;

export const LIMIT_NAMES = [
  "memoryMb",
  "processes",
  "workspaceMb",
  "tmpMb",
  "fileMb",
  "openFiles",
  "inotifyWatches",
] as const;

export const AGENT_SETTING_NAMES = [
  "maxGrepResults",
  "requireExplorationBeforeFinal",
  "minExplorationCalls",
] as const;

/** Options that can only be given in code. */
export const CODE_OPTION_NAMES = [
  "backend",
  "mounts",
  "env",
  "onStdout",
  "onStderr",
  "onBackground",
  "onDisplay",
  "onLLMQuery",
  "onRLMQuery",
  "tools",
  "private",
  "signal",
] as const;

export type SettingName = (typeof SETTING_NAMES)[number];
export type LimitName = (typeof LIMIT_NAMES)[number];
export type AgentSettingName = (typeof AGENT_SETTING_NAMES)[number];

/** As error messages name them: `timeout`, `limits.memoryMb`. */
export const SETTING_PATHS: readonly string[] = SETTING_NAMES.flatMap((name) => {
  if (name === "limits") return LIMIT_NAMES.map((limit) => `limits.${limit}`);
  return name === "agent" ? AGENT_SETTING_NAMES.map((one) => `agent.${one}`) : [name];
});

export const SANDBOX_OPTION_PATHS: readonly string[] = [...SETTING_PATHS, ...CODE_OPTION_NAMES];

export const SANDBOX_NAMES: readonly string[] = [...SETTING_NAMES, ...CODE_OPTION_NAMES];

/** A hint for options that take the sandbox's in `config`. */
export function sandboxNotice(name: string): string | undefined {
  return SANDBOX_NAMES.includes(name) ? `sandbox options belong in config: { ${name} }` : undefined;
}

const IN_MILLISECONDS: ReadonlySet<string> = new Set<SettingName>([
  "timeout",
  "grace",
  "checkpointInterval",
  "queryTimeout",
  "queryTotal",
  "daemonIdle",
]);

/** The unit of a number without one. */
export function unitOf(path: string): "ms" | "MB" | undefined {
  if (IN_MILLISECONDS.has(path)) return "ms";
  return path.endsWith("Mb") && SETTING_PATHS.includes(path) ? "MB" : undefined;
}

/** `CELLAR_LIMITS_MEMORY_MB` for `limits.memoryMb`. */
export function variableOf(path: string): string {
  const words = path.replace(/([a-z])([A-Z])/g, "$1_$2").replaceAll(".", "_");
  return `CELLAR_${words.toUpperCase()}`;
}
