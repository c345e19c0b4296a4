import { resolve } from "node:path";
import { z } from "zod";
import type { REPLConfig } from "../backends/backend.js";
import { checkRuntime, splitConfig } from "../backends/options.js";
import type { StatefulRuntime } from "../backends/stateful-sandbox.js";
import { settingLayers } from "../config/environment.js";
import { checkNames, kindOf, requireFunction, requireOptions } from "../config/kinds.js";
import { invalidOptions } from "../config/problems.js";
import { SANDBOX_NAMES } from "../config/setting-names.js";
import { resolveSettings, type Settings } from "../config.js";
import { CellarError } from "../errors.js";
import { DiskStore } from "./store/disk-store.js";
import { checkId } from "./store/names.js";
import type { NotebookId, NotebookStore } from "./store/store.js";

export interface PlaceOptions {
  /** A folder for the files of all notebooks, created on demand. */
  readonly dir: string;
  /** Stores heads and blobs elsewhere. */
  readonly store?: NotebookStore | undefined;
}

export interface NotebookOptions extends PlaceOptions, Omit<REPLConfig, "backend"> {
  readonly user: string;
  readonly session: string;
  /** Takes the notebook from its owner, whose next change fails. */
  readonly takeover?: boolean | undefined;
  /** False to fail with `NOT_FOUND` instead of creating a new one. */
  readonly create?: boolean | undefined;
  /** Default: the one shared by all sandboxes of this process. */
  readonly runtime?: StatefulRuntime | undefined;
}

export interface ResolvedNotebookOptions {
  readonly id: NotebookId;
  readonly dir: string;
  readonly store: NotebookStore;
  readonly takeover: boolean;
  readonly create: boolean;
  readonly runtime: StatefulRuntime | undefined;
  readonly config: REPLConfig;
  readonly settings: Settings;
}

const EXAMPLE = '{ user: "ann", session: "sales", dir: "./notebooks" }';
const REMEDY = "Give user and session as names, and dir as the folder for the notebooks.";

const ownSchema = z.object({
  dir: z.string().min(1),
  takeover: z.boolean().default(false),
  create: z.boolean().default(true),
});

/** Any run of a notebook can be undone. */
const NOTEBOOK_DEFAULTS = { checkpoints: "always" };

const OWN_NAMES = ["user", "session", "dir", "store", "takeover", "create", "runtime"];

export function readOptions(options: NotebookOptions): ResolvedNotebookOptions {
  const { user, session, store, runtime, ...rest } = requireObject(options);
  const { dir: _, takeover: __, create: ___, ...config } = rest;
  const own = ownSchema.safeParse(options);
  if (!own.success) throw unfit(own.error, options);
  const { dir, takeover, create } = own.data;
  const layers = { ...NOTEBOOK_DEFAULTS, ...settingLayers() };
  const settings = resolveSettings(splitConfig(config).options, layers, undefined, OWN_NAMES);
  return {
    id: checkId({ user, session }),
    ...placeOf({ dir, store }),
    takeover,
    create,
    runtime: checkRuntime(runtime),
    config: { ...config, backend: "native", checkpoints: settings.checkpoints },
    settings,
  };
}

/** The options of `Notebook.open` may be passed to `list` and `remove`. */
export function withoutSettings<T extends PlaceOptions>(options: T): T {
  const others = new Set<string>(["session", "takeover", "create", "runtime", ...SANDBOX_NAMES]);
  const kept = Object.entries(options).filter(([name]) => !others.has(name));
  return Object.fromEntries(kept) as unknown as T;
}

export function forkId(
  session: string,
  options: { readonly user?: string | undefined },
  from: NotebookId,
): NotebookId {
  const given = requireOptions("the options of a fork", options, '{ user: "ann" }');
  const { user = from.user } = checkNames("fork", given, { user: true });
  return checkId({ user, session });
}

export function placeOf(place: PlaceOptions): { dir: string; store: NotebookStore } {
  const { dir, store } = place ?? {};
  if (typeof dir !== "string" || dir === "") {
    throw new CellarError("INVALID_INPUT", "dir must name a folder for the notebooks", {
      remedy: 'Give one, such as dir: "./notebooks"; it is created if missing.',
    });
  }
  return { dir: resolve(dir), store: store === undefined ? new DiskStore(dir) : checkStore(store) };
}

function checkStore(store: NotebookStore): NotebookStore {
  const { heads, blobs } = requireOptions("store", store);
  requireFunction("store.heads.get", heads?.get);
  requireFunction("store.blobs", blobs);
  return store;
}

function requireObject(options: NotebookOptions): NotebookOptions {
  if (typeof options !== "object" || options === null) {
    const kind = kindOf(options);
    const message = `the options of a notebook must be an object such as ${EXAMPLE}, not ${kind}`;
    throw new CellarError("INVALID_INPUT", message, { remedy: REMEDY });
  }
  if (!("backend" in options)) return options;
  throw new CellarError("INVALID_INPUT", "notebooks always use the native backend", {
    remedy: "Remove `backend`.",
  });
}

function unfit({ issues }: z.ZodError, input: NotebookOptions): CellarError {
  return invalidOptions("invalid options of a notebook", issues, {
    input,
    known: OWN_NAMES,
    code: "INVALID_INPUT",
    remedy: REMEDY,
  });
}
