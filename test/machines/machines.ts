import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
export const LIBRARY = new URL("../../dist/index.js", import.meta.url).href;

const IS_ROOT = process.getuid?.() === 0;

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder that is mounted over on another machine. */
export interface Mounted {
  readonly path: string;
  /** Options of its tmpfs. */
  readonly options: string;
}

/** Folders of a test, removed with it. */
export class Fixture implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "cellar-machine-"));

  constructor() {
    // Sandboxes of root run as somebody else.
    chmodSync(this.path, 0o755);
  }

  folder(name: string): string {
    const path = join(this.path, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** Runs a program where folders are mounted as they are on other machines. */
export function onMachine(
  mounts: readonly Mounted[],
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const mounting = mounts.flatMap(({ path, options }) => [path, options]);
  const script = [
    "mount --make-rprivate / || exit 97",
    ...mounts.map(
      (_, at) => `mount -t tmpfs -o "$${2 * at + 2}" machine "$${2 * at + 1}" || exit 97`,
    ),
    `shift ${mounting.length}`,
    'exec "$@"',
  ].join("\n");
  // An ordinary user is root of a namespace to mount, and in one more itself again.
  const [flags, back] = IS_ROOT
    ? [["-m"], []]
    : [
        ["-r", "-m"],
        [
          "unshare",
          "-U",
          `--map-user=${process.getuid?.()}`,
          `--map-group=${process.getgid?.()}`,
          "--",
        ],
      ];
  const whole = [...flags, "--", "sh", "-c", script, "sh", ...mounting, ...back, ...command];
  return run("unshare", whole, env);
}

/** Why no other machine can be had here; undefined where it can. */
export async function lackOfMachines(): Promise<string | undefined> {
  using fixture = new Fixture();
  const { code, stderr } = await onMachine(
    [{ path: fixture.folder("place"), options: "size=64k" }],
    ["true"],
  ).catch((error: unknown) => ({ code: -1, stderr: String(error) }));
  return code === 0 ? undefined : `nothing can be mounted here: ${stderr.trim() || code}`;
}

export function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const options = { env: { ...process.env, ...env }, timeout: 120_000, maxBuffer: 1 << 24 };
    execFile(program, [...args], options, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== "number") reject(error);
      else resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}

/** Node with a program of these lines, which has all of the package. */
export function program(lines: readonly string[]): string[] {
  const code = [`import * as cellar from ${JSON.stringify(LIBRARY)};`, ...lines].join("\n");
  return [process.execPath, "--input-type=module", "-e", code];
}
