import { z } from "zod";
import {
  LEAST_MEMORY_MB,
  LONGEST_OUTPUT,
  LONGEST_TIMEOUT_MS,
  settingLayers,
  settingSources,
} from "./config/environment.js";
import { mergeLayer, valueAt } from "./config/layers.js";
import { invalidOptions } from "./config/problems.js";
import {
  type AgentSettingName,
  CODE_OPTION_NAMES,
  type LimitName,
  SANDBOX_OPTION_PATHS,
  SETTING_PATHS,
  type SettingName,
  unitOf,
} from "./config/setting-names.js";

export const isolationLevelSchema = z.enum(["L0", "L1", "L2", "L3-", "L3", "L4"]);

const megabytes = z
  .int()
  .positive()
  .max(1 << 20);

export const limitSettingsSchema = z.strictObject({
  /** Memory of all processes of a session together, in MB. */
  memoryMb: megabytes.min(LEAST_MEMORY_MB).default(1024),
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
  /** Files and folders that a session may watch with inotify. */
  inotifyWatches: z.int().min(0).max(65_536).default(0),
} satisfies Record<LimitName, z.ZodType>);

export const agentSettingsSchema = z.strictObject({
  /** Matches that `grep` shows. */
  maxGrepResults: z.int().min(1).max(10_000).default(100),
  /** Whether `FINAL` is refused before anything was looked at. */
  requireExplorationBeforeFinal: z.boolean().default(false),
  /** How many calls count as having looked. */
  minExplorationCalls: z.int().min(0).max(1_000).default(1),
} satisfies Record<AgentSettingName, z.ZodType>);

export const settingsSchema = z.strictObject({
  /** A python binary or a venv folder. Default: Cellar's own environment, else python3. */
  python: z.string().min(1).optional(),
  /** Modules that every session finds imported: `full`, `standard`, `none`, or names. */
  preload: z
    .union([
      z.enum(["full", "standard", "none"]),
      z.array(z.string().regex(/^[\w.]+$/, "the name of a module")).max(128),
    ])
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
  /** When checkpoints are made: after each cell; when the session rests or too much would be lost; never. */
  checkpoints: z.enum(["always", "auto", "off"]).default("auto"),
  /** With `auto`: how much cell time may be without a checkpoint, in milliseconds. */
  checkpointInterval: z.int().min(0).max(LONGEST_TIMEOUT_MS).default(100),
  /** What a checkpoint is: the pages that the cell wrote, where the kernel can tell them; or a copy of the process. */
  checkpointMethod: z.enum(["pages", "fork"]).default("pages"),
  /** How many checkpoints a session keeps. */
  keepCheckpoints: z.int().min(1).max(100).default(10),
  /** Questions to the host (`llm_query`) that are worked on at the same time. */
  queryConcurrency: z.int().min(1).max(1024).default(16),
  /** How long one question to the host may take, in milliseconds. */
  queryTimeout: z.int().positive().max(LONGEST_TIMEOUT_MS).default(600_000),
  /** How long the questions of one cell may hold its clock in all, in milliseconds. */
  queryTotal: z.int().positive().max(LONGEST_TIMEOUT_MS).default(3_600_000),
  /** How long a daemon that a client started stays without clients, in milliseconds. */
  daemonIdle: z.int().positive().max(LONGEST_TIMEOUT_MS).default(900_000),
  /** Pyodide: false runs it in the caller's own thread, without any wall. */
  useWorker: z.boolean().default(true),
  /** Pyodide: sessions started ahead of their use. */
  spares: z.int().min(0).max(64).default(1),
  /** Pyodide: where it and its packages come from, a folder or a URL; of several, the first that works. */
  indexURL: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(16)]).optional(),
  /** Pyodide: packages of its distribution that every session finds installed. */
  packages: z
    .array(z.string().regex(/^[A-Za-z0-9][\w.-]*$/, "the name of a package"))
    .max(128)
    .default([]),
  /** Notebooks: how many cells one may have. */
  maxCells: z.int().min(1).max(10_000).default(100),
  /** Notebooks: the largest state that is stored, in MB on disk. */
  stateMaxSizeMb: megabytes.default(512),
  /** Notebooks: what the outputs of all cells together may take on the disk, in MB. */
  outputsMaxSizeMb: megabytes.default(128),
  /** Notebooks: how many snapshots are kept to go back to. */
  keepSnapshots: z.int().min(1).max(100).default(5),
  /** What cells may reach: nothing, the host's own network, or some hosts through a proxy. */
  network: z
    .union([
      z.enum(["none", "host"]),
      z.strictObject({ allow: z.array(z.string().min(1).max(300)).min(1).max(256) }),
    ])
    .default("none"),
  /** Whether a session has process numbers of its own, or sees the host's processes. */
  pids: z.enum(["own", "host"]).default("own"),
  /** Notebooks: files whose presence in the workspace cuts the network, as globs. */
  privateFiles: z.array(z.string().min(1).max(1000)).max(256).default([]),
  /** What cells may say: everything, what the visitor lets pass, or what RestrictedPython compiles. */
  policy: z.enum(["off", "ast", "restricted"]).default("off"),
  /** Whether characters that models copy into code, such as `×` or `“`, are replaced. */
  sanitise: z.boolean().default(false),
  /** The functions of an agent: `peek`, `grep`, `FINAL` and others. */
  agent: agentSettingsSchema
    .extend({
      role: z.string().max(200).optional(),
      chain: z
        .strictObject({
          mode: z.enum(["legacy", "seq", "dep"]),
          parallelTools: z.boolean(),
          parallelMutations: z.boolean(),
        })
        .optional(),
    })
    .optional(),
  limits: limitSettingsSchema.prefault({}),
} satisfies Record<SettingName, z.ZodType>);

export type Settings = z.infer<typeof settingsSchema>;
export type LimitSettings = z.infer<typeof limitSettingsSchema>;
export type IsolationLevel = z.infer<typeof isolationLevelSchema>;

/** Options given in code, then `CELLAR_*`, then the project's file, then the user's, then defaults. */
export function resolveSettings(
  options: object = {},
  below = settingLayers(),
  sources = settingSources,
  /** Names that stand beside those of the sandbox. */
  own: readonly string[] = [],
): Settings {
  const input = mergeLayer(below, options as Record<string, unknown>);
  const parsed = settingsSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  const originOf = (path: string) =>
    valueAt(options, path) === undefined
      ? sources().find(({ values }) => valueAt(values, path) !== undefined)
      : undefined;
  const { issues } = parsed.error;
  const isCodeWrong = issues.some(
    (issue) =>
      issue.code === "unrecognized_keys" &&
      issue.keys.some((key) => originOf([...issue.path, key].join(".")) === undefined),
  );
  throw invalidOptions("invalid settings", issues, {
    input,
    known: isCodeWrong ? [...own, ...SANDBOX_OPTION_PATHS] : SETTING_PATHS,
    nameOf: (path) => originOf(path)?.nameOf(path),
    unitOf,
    notice: (path) =>
      CODE_OPTION_NAMES.some((name) => name === path) ? "it can be given in code only" : undefined,
  });
}
