import { z } from "zod";
import { isolationLevelSchema } from "../../config.js";

/** `info` is neutral; `warn` costs comfort or a level; `fail` means that something does not work. */
export const healthCheckSchema = z.strictObject({
  name: z.string(),
  status: z.enum(["ok", "warn", "fail", "info"]),
  detail: z.string(),
  fix: z.string().optional(),
});

export type HealthCheck = z.infer<typeof healthCheckSchema>;

const checkOf =
  (status: HealthCheck["status"]) =>
  (name: string, detail: string, fix?: string): HealthCheck => ({
    ...{ name, status, detail },
    ...(fix !== undefined && { fix }),
  });

export const ok = checkOf("ok");
export const info = checkOf("info");
export const warn = checkOf("warn");
export const fail = checkOf("fail");

export const AGAIN = "Fix the lines above, then run cellar doctor again.";

export const diagnosisSchema = z.strictObject({
  /** A cell ran, in a sandbox whose level is at least the minimum. */
  ok: z.boolean(),
  level: isolationLevelSchema.nullable(),
  claims: z.string().nullable(),
  minimum: isolationLevelSchema,
  /** What this machine lacks for L3. */
  missing: z.array(z.string()),
  /** What `auto` chooses; null when no session can be started. */
  backend: z.enum(["native", "daemon", "pyodide"]).nullable(),
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
