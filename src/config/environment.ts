import { existsSync, lstatSync, readFileSync } from "node:fs";
import { homedir, tmpdir, totalmem } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CellarError, describeError } from "../errors.js";
import { fileSource, isPlain, mergeLayer, type SettingSource, variableSource } from "./layers.js";

/** What a timer can hold. */
export const LONGEST_TIMEOUT_MS = 2_147_483_647;
export const LONGEST_OUTPUT = 100_000_000;
/** With less a session fails at the imports of everyday code. */
export const LEAST_MEMORY_MB = 8;

/** What the host's environment says; read once and passed on. */
export interface HostEnvironment {
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

export function hostEnvironment(): HostEnvironment {
  return {
    path: process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin",
    home: homeFolder(),
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

/** How turns with several tool calls are run, where nothing else says so. */
export function chainEnvironment(): { mode: string | undefined; parallelMutations: boolean } {
  return {
    mode: process.env.ORCHESTRATOR_TOOL_CHAIN_MODE,
    parallelMutations: process.env.ORCHESTRATOR_TOOL_CHAIN_PARALLEL_MUTATIONS === "1",
  };
}

/** What there is here: the machine's, or less where a control group holds this process. */
export function machineMemoryMb(): number {
  const held = process.constrainedMemory();
  const bytes = held > 0 ? Math.min(held, totalmem()) : totalmem();
  return Math.floor(bytes / (1024 * 1024));
}

function packageRoot(): string {
  // Undefined in a CommonJS bundle.
  const here: unknown = import.meta.url;
  if (typeof here !== "string") throw incomplete("beside this program");
  const root = dirname(dirname(dirname(fileURLToPath(here))));
  const runner = join(root, "python", "cellar_runner");
  // If the program itself is there, `doctor` reports the missing part.
  if (!existsSync(runner) && !existsSync(join(root, "dist", "cli", "main.js"))) {
    throw incomplete(`at ${runner}`);
  }
  return root;
}

function incomplete(place: string): CellarError {
  return new CellarError("PACKAGE_INCOMPLETE", `Cellar's own files are not ${place}`, {
    remedy:
      "Mark cellar as external in your bundler (esbuild: --external:cellar), and have it in " +
      "node_modules where the program runs. Without a bundler, install the package again.",
  });
}

/** The version of the installed package. */
export function packageVersion(): string {
  const described: unknown = JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8"));
  return isPlain(described) ? String(described.version) : "unknown";
}

/** A file in the `assets` folder beside a module, which the build copies to `dist`. */
export function readAsset(name: string, module: string): string {
  const file = new URL(`assets/${name}`, module);
  if (!existsSync(file)) throw incomplete(`at ${fileURLToPath(file)}`);
  return readFileSync(file, "utf8");
}

/** Variables that describe the terminal. */
export function terminalEnvironment(): Readonly<Record<string, string | undefined>> {
  const { TERM, TERM_PROGRAM, KITTY_WINDOW_ID, NO_COLOR, LC_TERMINAL } = process.env;
  return { TERM, TERM_PROGRAM, KITTY_WINDOW_ID, NO_COLOR, LC_TERMINAL };
}

/** Variables of OpenTelemetry that are checked here; its own packages read the rest. */
const TELEMETRY_VARIABLES = [
  "OTEL_SDK_DISABLED",
  "OTEL_TRACES_EXPORTER",
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
  "OTEL_EXPORTER_OTLP_PROTOCOL",
  "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
  "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
] as const;

export type TelemetryEnvironment = Readonly<
  Partial<Record<(typeof TELEMETRY_VARIABLES)[number], string>>
>;

/** An empty variable counts as unset. */
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
  /** The default `dir` of notebooks. */
  readonly notebooks: string;
  /** Files that can be downloaded or made again. */
  readonly cache: string;
  /** For what concerns only this login: the system's own folder for that, else the state's. */
  readonly runtime: string;
}

export function userFolders(): UserFolders {
  const home = homeFolder();
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

/** A uid without an entry in the user database has no home, and then nothing is stored. */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return "/";
  }
}

/** The XDG specification ignores relative paths. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

/** A store has folders `notebooks` and `rooms`. Earlier versions had them one level below. */
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

/** All settings from outside the code, not validated yet. */
export function settingLayers(folder?: string): Record<string, unknown> {
  return settingSources(folder).reduceRight<Record<string, unknown>>(
    (below, { values }) => mergeLayer(below, values),
    {},
  );
}

/** Where settings come from outside the code; what the first ones say counts. */
export function settingSources(folder = process.cwd()): readonly SettingSource[] {
  const files = [join(folder, CONFIG_FILE), join(userFolders().config, "config.json")];
  return [variableSource(process.env), ...files.map((path) => fileSource(path, readFile(path)))];
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
