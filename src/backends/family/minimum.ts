import type { IsolationLevel, Settings } from "../../config.js";
import { CellarError } from "../../errors.js";
import { type IsolationReport, meets } from "../../isolation/levels.js";

/** Refuses to go without walls where more was asked for than can then be had. */
export function refuseWithoutWalls(
  { minIsolation }: Settings,
  offered: IsolationLevel,
  why: CellarError,
): void {
  if (meets(offered, minIsolation)) return;
  const lowering =
    `lower the option minIsolation to "${offered}" to run without walls: ` +
    "the code then runs as you, with limits against accidents at best.";
  throw new CellarError(
    "SANDBOX_UNAVAILABLE",
    `${why.message}. Without walls this machine offers ${offered}, below the minimum ${minIsolation}`,
    {
      remedy: why.remedy === undefined ? `L${lowering.slice(1)}` : `${why.remedy} Or ${lowering}`,
      details: { ...why.details, level: offered, option: "minIsolation" },
      cause: why,
    },
  );
}

/** Refuses a session that turned out weaker than was asked for. */
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
        `Lower the option minIsolation to "${isolation.level}" if that is enough for you.`,
      details: { level: isolation.level, missing: isolation.missing, option: "minIsolation" },
    },
  );
}
