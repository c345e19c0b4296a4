import { existsSync, lstatSync, readFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CellarError, describeError } from "../errors.js";

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

export type SettingName = (typeof SETTING_NAMES)[number];

/** What a timer can hold. */
export const LONGEST_TIMEOUT_MS = 2_147_483_647;
export const LONGEST_OUTPUT = 100_000_000;

/** What the surroundings say, read once and handed around. */
export interface Surroundings {
  readonly path: string;
  readonly home: string;
  readonly temporary: string;
  /** The installed package: its python/ folder and its own environment lie here. */
  readonly packageRoot: string;
  /** The Python environment that `cellar install` adds packages to. */
  readonly environment: string;
  /** Names of the host's environment variables, none of which may appear inside. */
  readonly environmentNames: readonly string[];
  /** Where the user's systemd is reached. */
  readonly userManager: {
    readonly runtimeFolder: string | undefined;
    readonly busAddress: string | undefined;
  };
}

export function surroundings(): Surroundings {
  return {
    path: process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin",
    home: homedir(),
    temporary: tmpdir(),
    packageRoot: packageRoot(),
    environment: userFolders().python,
    environmentNames: Object.keys(process.env),
    userManager: {
      runtimeFolder: process.env.XDG_RUNTIME_DIR,
      busAddress: process.env.DBUS_SESSION_BUS_ADDRESS,
    },
  };
}

function packageRoot(): string {
  return dirname(dirname(dirname(fileURLToPath(import.meta.url))));
}

/** The version of the installed package. */
export function packageVersion(): string {
  const described: unknown = JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8"));
  return isPlain(described) ? String(described.version) : "unknown";
}

/** `TERM_PROGRAM` and its like, for programs that draw on a terminal. */
export function terminalEnvironment(): Readonly<Record<string, string | undefined>> {
  const { TERM, TERM_PROGRAM, KITTY_WINDOW_ID, NO_COLOR, LC_TERMINAL } = process.env;
  return { TERM, TERM_PROGRAM, KITTY_WINDOW_ID, NO_COLOR, LC_TERMINAL };
}

/** What the environment says to every program that tells OpenTelemetry of itself. */
const TELEMETRY_VARIABLES = [
  "OTEL_SDK_DISABLED",
  "OTEL_TRACES_EXPORTER",
  "OTEL_SERVICE_NAME",
  "OTEL_RESOURCE_ATTRIBUTES",
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
  "OTEL_EXPORTER_OTLP_PROTOCOL",
  "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
  "OTEL_EXPORTER_OTLP_TIMEOUT",
  "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
  "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
] as const;

export type TelemetryEnvironment = Readonly<
  Partial<Record<(typeof TELEMETRY_VARIABLES)[number], string>>
>;

/** An empty variable counts as none. */
export function telemetryEnvironment(): TelemetryEnvironment {
  const found = TELEMETRY_VARIABLES.map((name) => [name, process.env[name]?.trim()] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined && value !== ""));
}

/** A variable of the caller that the caller asked to pass on by name. */
export function callerVariable(name: string): string | undefined {
  return process.env[name];
}

/** Where a user's own files of Cellar live. */
export interface UserFolders {
  /** Has the user's `config.json`, which is only read. */
  readonly config: string;
  /** The one folder for all that is kept. The others but `config` and `runtime` lie in it. */
  readonly state: string;
  /** The Python environment that `cellar install` adds packages to. */
  readonly python: string;
  /** The `dir` of notebooks for which nobody names one. */
  readonly notebooks: string;
  /** What can be had again. */
  readonly cache: string;
  /** For what concerns only this login: the system's own folder for that, else the state's. */
  readonly runtime: string;
}

export function userFolders(): UserFolders {
  const home = homedir();
  const state = stateFolder(home);
  const runtime = process.env.XDG_RUNTIME_DIR;
  return {
    config: join(absolute(process.env.XDG_CONFIG_HOME) ?? join(home, ".config"), "cellar"),
    state,
    python: join(state, "python"),
    notebooks: notebooksFolder(state),
    cache: join(state, "cache"),
    runtime: isPrivateFolder(runtime) ? join(runtime, "cellar") : state,
  };
}

function stateFolder(home: string): string {
  const chosen = process.env.CELLAR_HOME;
  if (chosen !== undefined && chosen !== "") return resolve(chosen);
  return join(absolute(process.env.XDG_STATE_HOME) ?? join(home, ".local", "state"), "cellar");
}

/** The specification of these variables says that any other value counts as none. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

/** A store has its own folders `notebooks` and `rooms`. Earlier versions had theirs a step below. */
function notebooksFolder(state: string): string {
  const earlier = join(state, "notebooks");
  return existsSync(join(earlier, "notebooks")) && !existsSync(join(state, "rooms"))
    ? earlier
    : state;
}

/** After `su` the variable still names the folder of another user. */
function isPrivateFolder(path: string | undefined): path is string {
  if (path === undefined || !isAbsolute(path)) return false;
  try {
    const info = lstatSync(path);
    return info.isDirectory() && info.uid === process.getuid?.() && (info.mode & 0o077) === 0;
  } catch {
    return false;
  }
}

const CONFIG_FILE = "cellar.config.json";

/** Everything that is set outside the code, read at this moment and not judged yet. */
export function settingLayers(folder = process.cwd()): Record<string, unknown> {
  const layers = [
    readFile(join(userFolders().config, "config.json")),
    readFile(join(folder, CONFIG_FILE)),
    readEnvironment(),
  ];
  return layers.reduce(mergeLayer, {});
}

export function mergeLayer(
  below: Record<string, unknown>,
  above: Record<string, unknown>,
): Record<string, unknown> {
  const merged = { ...below };
  for (const [key, value] of Object.entries(above)) {
    if (value === undefined) continue;
    const under = merged[key];
    merged[key] = isPlain(under) && isPlain(value) ? mergeLayer(under, value) : value;
  }
  return merged;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readFile(path: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES") return {};
    throw error;
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isPlain(value)) return value;
    throw new Error("it is not an object");
  } catch (error) {
    throw new CellarError("INVALID_CONFIG", `${path} cannot be used: ${describeError(error)}`, {
      remedy: "Correct the file or remove it.",
      cause: error,
    });
  }
}

/** `CELLAR_TIMEOUT=5000`, `CELLAR_LIMITS_MEMORY_MB=512`: values are JSON, else text. */
function readEnvironment(): Record<string, unknown> {
  const known: ReadonlySet<string> = new Set(SETTING_NAMES);
  const settings: Record<string, unknown> = {};
  const limits: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (!name.startsWith("CELLAR_") || value === undefined || value === "") continue;
    const key = name.slice("CELLAR_".length);
    if (key.startsWith("LIMITS_"))
      limits[camelCase(key.slice("LIMITS_".length))] = readValue(value);
    else if (known.has(camelCase(key))) settings[camelCase(key)] = readValue(value);
  }
  return Object.keys(limits).length > 0 ? { ...settings, limits } : settings;
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function camelCase(name: string): string {
  return name.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
