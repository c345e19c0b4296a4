import type { IsolationLevel, Settings } from "../../config.js";
import { CellarError } from "../../errors.js";
import { type IsolationReport, meets } from "../../isolation/levels.js";
import { adviceToLower, isolationCause, remedyFor } from "../../isolation/remedies.js";

/** Refuses to run without walls below the minimum isolation. */
export function refuseWithoutWalls(
  { minIsolation }: Settings,
  offered: IsolationLevel,
  why: CellarError,
): void {
  if (meets(offered, minIsolation)) return;
  const cause = isolationCause(why.details.cause);
  // Asking for less isolation helps against nothing else.
  if (cause === undefined) throw why;
  throw new CellarError(
    "SANDBOX_UNAVAILABLE",
    `${why.message}. Without a sandbox this machine offers isolation ${offered}, below the minimum ${minIsolation}`,
    {
      remedy: `${why.remedy ?? remedyFor(cause)} ${adviceToLower(cause, offered)}`,
      details: { ...why.details, level: offered, option: "minIsolation" },
      cause: why,
    },
  );
}

export function refuseBelow({ minIsolation }: Settings, isolation: IsolationReport): void {
  if (meets(isolation.level, minIsolation)) return;
  const failed = isolation.checks.filter(({ ok, name }) => !ok && isolation.missing.includes(name));
  throw new CellarError(
    "SANDBOX_UNAVAILABLE",
    [
      `This machine offers isolation ${isolation.level}, below the minimum ${minIsolation}`,
      ...failed.map(({ name, detail }) => `${name}: ${detail}`),
    ].join("; "),
    {
      remedy:
        failed.find(({ fix }) => fix !== undefined && fix !== "")?.fix ??
        adviceToLower("below-minimum", isolation.level),
      details: {
        cause: "below-minimum",
        level: isolation.level,
        missing: isolation.missing,
        option: "minIsolation",
      },
    },
  );
}
