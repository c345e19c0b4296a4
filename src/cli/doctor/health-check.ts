import { z } from "zod";
import { isolationLevelSchema } from "../../config.js";

/** `info` is neither good nor bad; `warn` costs comfort or a level, `fail` keeps something from working. */
export const healthCheckSchema = z.strictObject({
  name: z.string(),
  status: z.enum(["ok", "warn", "fail", "info"]),
  detail: z.string(),
  fix: z.string().optional(),
});

export type HealthCheck = z.infer<typeof healthCheckSchema>;

export const ok = (name: string, detail: string): HealthCheck => ({ name, status: "ok", detail });

export const info = (name: string, detail: string): HealthCheck => ({
  name,
  status: "info",
  detail,
});

export const warn = (name: string, detail: string, fix: string): HealthCheck => ({
  name,
  status: "warn",
  detail,
  fix,
});

export const fail = (name: string, detail: string, fix: string): HealthCheck => ({
  name,
  status: "fail",
  detail,
  fix,
});

/** What to do where the error itself does not say. */
export const AGAIN = "Fix the lines above, then run cellar doctor again.";

/** What `cellar doctor --json` prints. */
export const diagnosisSchema = z.strictObject({
  /** A cell ran, in a sandbox whose level is at least the minimum. */
  ok: z.boolean(),
  /** Null when no sandbox can be made. */
  level: isolationLevelSchema.nullable(),
  claims: z.string().nullable(),
  minimum: isolationLevelSchema,
  /** What this machine lacks for L3. */
  missing: z.array(z.string()),
  /** What a session gets that asks for none in particular; null when none can be made. */
  backend: z.enum(["native", "daemon", "pyodide"]).nullable(),
  /** What was tried, and worked. */
  works: z.strictObject({ cells: z.boolean(), agents: z.boolean(), notebooks: z.boolean() }),
  python: z
    .strictObject({ executable: z.string(), version: z.string(), reason: z.string() })
    .nullable(),
  checks: z.array(healthCheckSchema),
  error: z
    .strictObject({ code: z.string(), message: z.string(), remedy: z.string().nullable() })
    .nullable(),
});

export type Diagnosis = z.infer<typeof diagnosisSchema>;

export type Attempt<T> = { readonly value: T } | { readonly error: unknown };

export async function attempt<T>(work: Promise<T>): Promise<Attempt<T>> {
  try {
    return { value: await work };
  } catch (error) {
    return { error };
  }
}
