import { readFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { CellarError, describeError } from "./errors.js";

export const isolationLevelSchema = z.enum(["L0", "L1", "L2", "L3-", "L3", "L4"]);

/** What a timer can hold. */
export const LONGEST_TIMEOUT_MS = 2_147_483_647;
export const LONGEST_OUTPUT = 100_000_000;

const megabytes = z
  .int()
  .positive()
  .max(1 << 20);

export const limitSettingsSchema = z.strictObject({
  /** Memory of all processes of a session together, in MB. */
  memoryMb: megabytes.default(1024),
  /** Processes and threads of a session. */
  processes: z.int().min(8).max(32_768).default(128),
  /** Size of /workspace in MB. */
  workspaceMb: megabytes.default(256),
  /** Size of each of /tmp and /dev/shm in MB. */
  tmpMb: megabytes.default(64),
  /** Largest single file in MB. */
  fileMb: megabytes.default(256),
  /** Open files of one process. */
  openFiles: z.int().min(32).max(65_536).default(256),
});

export const settingsSchema = z.strictObject({
  /** A python binary or a venv folder. Default: Cellar's own environment, else python3. */
  python: z.string().min(1).optional(),
  /** Modules that every session finds imported: `full`, `standard`, `none`, or names. */
  preload: z
    .union([z.enum(["full", "standard", "none"]), z.array(z.string().regex(/^[\w.]+$/)).max(128)])
    .default("full"),
  /** Sessions kept ready ahead. */
  poolSize: z.int().min(0).max(256).default(4),
  /** The weakest isolation that is accepted. */
  minIsolation: isolationLevelSchema.default("L3-"),
  /** Time limit of a cell in milliseconds. */
  timeout: z.int().positive().max(LONGEST_TIMEOUT_MS).default(30_000),
  /** How long a cell may go on after its interrupt, in milliseconds. */
  grace: z.int().min(0).max(600_000).default(2_000),
  /** Characters of each of stdout and stderr that a result keeps. */
  maxOutputLength: z.int().min(0).max(LONGEST_OUTPUT).default(50_000),
  /** When copies are parked: after each cell, only when the session rests, or never. */
  checkpoints: z.enum(["always", "idle", "off"]).default("always"),
  /** How many checkpoints a session keeps. */
  keepCheckpoints: z.int().min(1).max(100).default(10),
  /** Questions to the host (`llm_query`) that are worked on at the same time. */
  queryConcurrency: z.int().min(1).max(1024).default(16),
  /** How long one question to the host may take, in milliseconds. */
  queryTimeout: z.int().positive().max(LONGEST_TIMEOUT_MS).default(600_000),
  limits: limitSettingsSchema.prefault({}),
});

export type Settings = z.infer<typeof settingsSchema>;
export type LimitSettings = z.infer<typeof limitSettingsSchema>;
export type IsolationLevel = z.infer<typeof isolationLevelSchema>;

/** What the surroundings say, read once and handed around. */
export interface Surroundings {
  readonly path: string;
  readonly home: string;
  readonly temporary: string;
  /** The installed package: its python/ folder and its own environment lie here. */
  readonly packageRoot: string;
  /** Names of the host's environment variables, none of which may appear inside. */
  readonly environmentNames: readonly string[];
}

export function surroundings(): Surroundings {
  return {
    path: process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin",
    home: homedir(),
    temporary: tmpdir(),
    packageRoot: dirname(dirname(fileURLToPath(import.meta.url))),
    environmentNames: Object.keys(process.env),
  };
}

/** `TERM_PROGRAM` and its like, for programs that draw on a terminal. */
export function terminalEnvironment(): Readonly<Record<string, string | undefined>> {
  const { TERM, TERM_PROGRAM, KITTY_WINDOW_ID, NO_COLOR, LC_TERMINAL } = process.env;
  return { TERM, TERM_PROGRAM, KITTY_WINDOW_ID, NO_COLOR, LC_TERMINAL };
}

/** A variable of the caller that the caller asked to pass on by name. */
export function callerVariable(name: string): string | undefined {
  return process.env[name];
}

/** Where a user's own files of Cellar live. */
export function userFolders(): {
  readonly config: string;
  readonly state: string;
  readonly cache: string;
} {
  const home = homedir();
  return {
    config: join(process.env.XDG_CONFIG_HOME ?? join(home, ".config"), "cellar"),
    state: join(process.env.XDG_STATE_HOME ?? join(home, ".local", "state"), "cellar"),
    cache: join(process.env.XDG_CACHE_HOME ?? join(home, ".cache"), "cellar"),
  };
}

const CONFIG_FILE = "cellar.config.json";

/** Options given in code, then `CELLAR_*`, then the project's file, then the user's, then defaults. */
export function resolveSettings(options: object = {}, below = settingLayers()): Settings {
  return parseSettings(mergeLayer(below, options as Record<string, unknown>));
}

/** Everything that is set outside the code, read at this moment. */
export function settingLayers(folder = process.cwd()): Record<string, unknown> {
  const layers = [
    readFile(join(userFolders().config, "config.json")),
    readFile(join(folder, CONFIG_FILE)),
    readEnvironment(),
  ];
  return layers.reduce(mergeLayer, {});
}

function parseSettings(value: unknown): Settings {
  const parsed = settingsSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(describeIssue);
  throw new CellarError("INVALID_CONFIG", `The settings do not fit: ${problems.join("; ")}`, {
    remedy: `Known settings: ${Object.keys(settingsSchema.shape).join(", ")}.`,
    details: { problems },
  });
}

function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === "unrecognized_keys") {
    return `unknown option ${issue.keys.map((key) => `"${[...issue.path, key].join(".")}"`).join(", ")}`;
  }
  return `${issue.path.join(".") || "value"}: ${issue.message}`;
}

function mergeLayer(
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
  const settings: Record<string, unknown> = {};
  const limits: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (!name.startsWith("CELLAR_") || value === undefined || value === "") continue;
    const key = name.slice("CELLAR_".length);
    if (key.startsWith("LIMITS_"))
      limits[camelCase(key.slice("LIMITS_".length))] = readValue(value);
    else if (camelCase(key) in settingsSchema.shape) settings[camelCase(key)] = readValue(value);
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
