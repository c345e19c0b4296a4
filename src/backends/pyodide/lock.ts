import { z } from "zod";
import { CellarError } from "../../errors.js";

const packageSchema = z.looseObject({
  name: z.string(),
  file_name: z.string(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  depends: z.array(z.string()).default([]),
});

const lockSchema = z.looseObject({
  info: z.looseObject({ abi_version: z.string().optional(), python: z.string().optional() }),
  packages: z.record(z.string(), packageSchema),
});

export type LockedPackage = z.infer<typeof packageSchema>;

/** The packages of a distribution, as in pyodide-lock.json. */
export interface Lock {
  readonly text: string;
  readonly info: { readonly abi_version?: string | undefined };
  readonly packages: ReadonlyMap<string, LockedPackage>;
}

export function parseLock(text: string): Lock {
  const { info, packages } = lockSchema.parse(JSON.parse(text));
  return {
    text,
    info,
    packages: new Map(Object.values(packages).map((each) => [normal(each.name), each])),
  };
}

/** The packages and all that they need, each once. */
export function closure(lock: Lock, names: readonly string[]): LockedPackage[] {
  const found = new Map<string, LockedPackage>();
  const add = (name: string) => {
    const key = normal(name);
    if (found.has(key)) return;
    const entry = lock.packages.get(key);
    if (entry === undefined) {
      throw new CellarError("INVALID_CONFIG", `Pyodide has no package called ${name}`, {
        remedy: "Use package names from the distribution's pyodide-lock.json.",
      });
    }
    found.set(key, entry);
    for (const needed of entry.depends) add(needed);
  };
  for (const name of names) add(name);
  return [...found.values()];
}

/** A lock file of these packages alone, with their files next to it. */
export function lockOf(lock: Lock, entries: readonly LockedPackage[]): string {
  const packages = Object.fromEntries(
    entries.map((entry) => [normal(entry.name), { ...entry, file_name: fileOf(entry) }]),
  );
  return JSON.stringify({ info: lock.info, packages });
}

/** The name of a package's file; some locks name whole URLs. */
export function fileOf({ file_name, name }: LockedPackage): string {
  const last = file_name.split("/").at(-1) ?? "";
  if (/^[\w.+-]+$/.test(last) && !last.startsWith(".")) return last;
  throw new CellarError("INVALID_CONFIG", `the file of the package ${name} has an invalid name`);
}

function normal(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, "-");
}
