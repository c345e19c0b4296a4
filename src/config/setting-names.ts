/** Every setting that the environment and files may give; the schema has the same names. */
export const SETTING_NAMES = [
  "python",
  "preload",
  "poolSize",
  "minIsolation",
  "timeout",
  "grace",
  "maxOutputLength",
  "checkpoints",
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

/** What a sandbox is given in code alone. */
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
  "signal",
] as const;

export type SettingName = (typeof SETTING_NAMES)[number];
export type LimitName = (typeof LIMIT_NAMES)[number];
export type AgentSettingName = (typeof AGENT_SETTING_NAMES)[number];

/** As they are written in messages, those of objects with their place. */
export const SETTING_PATHS: readonly string[] = SETTING_NAMES.flatMap((name) => {
  if (name === "limits") return LIMIT_NAMES.map((limit) => `limits.${limit}`);
  return name === "agent" ? AGENT_SETTING_NAMES.map((one) => `agent.${one}`) : [name];
});

export const SANDBOX_OPTION_PATHS: readonly string[] = [...SETTING_PATHS, ...CODE_OPTION_NAMES];

export const SANDBOX_NAMES: readonly string[] = [...SETTING_NAMES, ...CODE_OPTION_NAMES];

/** For options that have those of the sandbox in a place of their own. */
export function sandboxNotice(name: string): string | undefined {
  return SANDBOX_NAMES.includes(name)
    ? `options of the sandbox go into config: { ${name} }`
    : undefined;
}

const IN_MILLISECONDS: ReadonlySet<string> = new Set<SettingName>([
  "timeout",
  "grace",
  "queryTimeout",
  "queryTotal",
  "daemonIdle",
]);

/** What a bare number of this setting counts. */
export function unitOf(path: string): "ms" | "MB" | undefined {
  if (IN_MILLISECONDS.has(path)) return "ms";
  return path.endsWith("Mb") && SETTING_PATHS.includes(path) ? "MB" : undefined;
}

/** `CELLAR_LIMITS_MEMORY_MB` for `limits.memoryMb`. */
export function variableOf(path: string): string {
  const words = path.replace(/([a-z])([A-Z])/g, "$1_$2").replaceAll(".", "_");
  return `CELLAR_${words.toUpperCase()}`;
}
