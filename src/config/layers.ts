import { CellarError } from "../errors.js";
import { shownValue } from "./kinds.js";
import { nearestName } from "./names.js";
import { LIMIT_NAMES, SETTING_NAMES, unitOf, variableOf } from "./setting-names.js";
import {
  DURATION_EXAMPLES,
  type Quantity,
  readDuration,
  readMegabytes,
  SIZE_EXAMPLES,
} from "./units.js";

/** A shorter time for anything is rather a number of seconds that was meant. */
const LEAST_BARE_MS = 100;

const PREFIX = "CELLAR_";

export type Layer = Readonly<Record<string, unknown>>;

/** One place outside the code that settings come from. */
export interface SettingSource {
  readonly values: Layer;
  /** How the setting is called there. */
  readonly nameOf: (path: string) => string;
}

/** Paths by the variables that set them. */
const VARIABLES: ReadonlyMap<string, string> = new Map(
  [...SETTING_NAMES, ...LIMIT_NAMES.map((name) => `limits.${name}`)].map((path) => [
    variableOf(path),
    path,
  ]),
);

export function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function mergeLayer(
  below: Record<string, unknown>,
  above: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const merged = { ...below };
  for (const [key, value] of Object.entries(above)) {
    if (value === undefined) continue;
    const under = merged[key];
    merged[key] = isPlain(under) && isPlain(value) ? mergeLayer(under, value) : value;
  }
  return merged;
}

/** The value at a path such as `limits.memoryMb`. */
export function valueAt(layer: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>(
      (value, key) =>
        typeof value === "object" && value !== null && Object.hasOwn(value, key)
          ? (value as Record<string, unknown>)[key]
          : undefined,
      layer,
    );
}

/** `CELLAR_TIMEOUT=5s`, `CELLAR_LIMITS_MEMORY_MB=512`: values are JSON, else text. */
export function variableSource(environment: NodeJS.ProcessEnv): SettingSource {
  const settings: Record<string, unknown> = {};
  const limits: Record<string, unknown> = {};
  for (const [variable, text] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX) || text === undefined || text === "") continue;
    const path = VARIABLES.get(variable);
    if (path === undefined) refuseMistyped(variable);
    else if (!path.startsWith("limits.")) settings[path] = settingOf(path, json(text), variable);
    else limits[path.slice("limits.".length)] = settingOf(path, json(text), variable);
  }
  const values = Object.keys(limits).length > 0 ? mergeLayer(settings, { limits }) : settings;
  return { values, nameOf: variableOf };
}

/** The settings of a file, with the numbers that its units mean. */
export function fileSource(
  file: string,
  content: Readonly<Record<string, unknown>>,
): SettingSource {
  const nameOf = (path: string) => `"${path}" in ${file}`;
  const counted = (layer: Layer, place: string) =>
    Object.fromEntries(
      Object.entries(layer).map(([key, value]) => {
        const path = `${place}${key}`;
        return [key, settingOf(path, value, nameOf(path))];
      }),
    );
  const { limits } = content;
  const values = counted(content, "");
  return {
    nameOf,
    values: isPlain(limits) ? { ...values, limits: counted(limits, "limits.") } : values,
  };
}

/** Names that begin so are others' too; only what was surely meant for a setting is refused. */
function refuseMistyped(variable: string): void {
  const isLimit = variable.startsWith("CELLAR_LIMITS_");
  const names = [...VARIABLES.keys()].map((name) => name.slice(PREFIX.length));
  const meant = nearestName(variable.slice(PREFIX.length), names, { strictly: !isLimit });
  if (meant === undefined && !isLimit) return;
  const guess = meant === undefined ? "" : `; did you mean ${PREFIX}${meant}?`;
  const limits = LIMIT_NAMES.map((limit) => variableOf(`limits.${limit}`)).join(", ");
  throw new CellarError("INVALID_CONFIG", `unknown setting ${variable}${guess}`, {
    remedy: isLimit ? `Limits are ${limits}.` : `Rename the variable, or unset ${variable}.`,
  });
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A duration or a size as the number that the setting counts in; other values as they are. */
function settingOf(path: string, value: unknown, name: string): unknown {
  const unit = unitOf(path);
  if (unit === undefined || (typeof value !== "string" && typeof value !== "number")) return value;
  const read = unit === "ms" ? (text: string) => readDuration(text, "ms") : readMegabytes;
  const quantity: Quantity | undefined =
    typeof value === "number" ? { value, isBare: true } : read(value);
  if (quantity === undefined) {
    const [kind, examples, bare] =
      unit === "ms"
        ? ["duration", DURATION_EXAMPLES, "milliseconds"]
        : ["size", SIZE_EXAMPLES, "MB"];
    throw new CellarError(
      "INVALID_CONFIG",
      `${name} is ${shownValue(value)}, which is not a ${kind}`,
      {
        remedy: `Write ${examples}; a number without a unit is in ${bare}.`,
      },
    );
  }
  const isMistaken = unit === "ms" && quantity.value > 0 && quantity.value < LEAST_BARE_MS;
  if (!quantity.isBare || !isMistaken) return quantity.value;
  const number = String(value).trim();
  throw new CellarError("INVALID_CONFIG", `${name}: ${number} means ${number} ms`, {
    remedy: `Write ${number}s for seconds, or ${number}ms if that is meant.`,
  });
}
