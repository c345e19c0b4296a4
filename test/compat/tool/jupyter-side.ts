import { execFile, spawn } from "node:child_process";
import {
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { outputSchema, RUN_STATES, type SideRecord } from "./record.js";
import { copySurroundings, type Surroundings } from "./surroundings.js";

const PROBE = [
  "import json, sys, ipykernel, IPython, nbclient",
  "from importlib.metadata import version",
  "names = ['ipykernel', 'ipython', 'nbclient']",
  "print(json.dumps([sys.executable, ', '.join(n + ' ' + version(n) for n in names)]))",
].join("\n");

/** What a session of Cellar has in its environment, so that both sides compute alike. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  LANG: "C.UTF-8",
  OPENBLAS_NUM_THREADS: "1",
  OMP_NUM_THREADS: "1",
  MKL_NUM_THREADS: "1",
  NUMEXPR_NUM_THREADS: "1",
  PYTHONDONTWRITEBYTECODE: "1",
  PYDEVD_DISABLE_FILE_VALIDATION: "1",
  TERM: "xterm-color",
  // What a `!` command is given to.
  SHELL: "/bin/bash",
};

/** Beside the cells' own time: the start of the kernel and the way back from interrupts. */
const STARTING_MS = 180_000;
const MAX_ANSWER = 512 * 1024 * 1024;
const WORKSPACE = "/workspace";
/** The kernel's own files, away from those of the cells. */
const HOME = "/compat";

const recordSchema = z.object({
  cells: z.array(z.object({ state: z.enum(RUN_STATES), outputs: z.array(outputSchema) })),
  notes: z.array(z.string()),
});

export interface Kernel {
  readonly python: string;
  readonly versions: string;
  /** Whether it runs behind walls: without a network, in /workspace, with the rest read-only. */
  readonly isWalled: boolean;
}

/** The kernel of an interpreter; fails with the next step where it has none. */
export async function findKernel(python: string): Promise<Kernel> {
  const run = promisify(execFile);
  try {
    const { stdout } = await run(python, ["-I", "-c", PROBE], { timeout: 60_000 });
    const [, versions] = z.tuple([z.string(), z.string()]).parse(JSON.parse(stdout));
    const isWalled = await run("bwrap", [...walls(), "true"], { timeout: 20_000 }).then(
      () => true,
      () => false,
    );
    return { python, versions, isWalled };
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    const cause = stderr.trim().split("\n").at(-1) || (error as Error).message;
    throw new Error(
      `${python} cannot run notebooks as Jupyter does: ${cause}. ` +
        `Next step: ${python} -m pip install ipykernel nbclient, or --python with one that has them.`,
    );
  }
}

/** Lists the fonts once: matplotlib does it anew, and says so, in every kernel without a list. */
export async function fillCaches({ python }: Kernel, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const env = { ...ENVIRONMENT, MPLCONFIGDIR: folder, MPLBACKEND: "agg" };
  const args = ["-c", "import matplotlib.font_manager"];
  await promisify(execFile)(python, args, { env, timeout: 180_000 }).catch(() => {});
}

export interface JupyterOrder {
  readonly kernel: Kernel;
  readonly program: string;
  readonly cells: readonly string[];
  readonly surroundings: Surroundings;
  /** For the workspace and the kernel's own files. */
  readonly dir: string;
  /** What `fillCaches` wrote. */
  readonly caches: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Runs the cells through nbclient; `workspace` tells where, for paths in their texts. */
export async function runInJupyter(
  order: JupyterOrder,
): Promise<SideRecord & { readonly workspace: string | undefined }> {
  const { kernel, cells, surroundings, dir, timeoutMs, signal } = order;
  const place = {
    workspace: join(dir, "workspace"),
    home: join(dir, "home"),
    tmp: join(dir, "tmp"),
  };
  for (const folder of Object.values(place)) mkdirSync(folder, { recursive: true });
  copySurroundings(surroundings, place.workspace);
  cpSync(order.caches, join(place.home, "matplotlib"), { recursive: true });
  const inside = kernel.isWalled ? { workspace: WORKSPACE, home: HOME } : place;
  const request = JSON.stringify({
    cells,
    timeout: timeoutMs / 1000,
    folder: inside.workspace,
    home: inside.home,
  });
  const python = [kernel.python, order.program, join(inside.home, "record.json")];
  const [file = "", ...args] = kernel.isWalled
    ? [
        "bwrap",
        ...walls(place, [dirname(dirname(kernel.python)), dirname(order.program)]),
        ...python,
      ]
    : python;
  const started = performance.now();
  const child = spawn(file, args, {
    stdio: ["pipe", "ignore", "pipe"],
    env: environmentOf(kernel.python, inside),
    cwd: kernel.isWalled ? "/" : place.workspace,
    detached: true,
  });
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints = (complaints + text).slice(-4_000);
  });
  child.stdin.on("error", () => {});
  child.stdin.end(request);
  const end = () => endGroup(child.pid);
  const deadline = setTimeout(end, STARTING_MS + cells.length * (timeoutMs + 20_000));
  signal.addEventListener("abort", end);
  const code = await new Promise<number | null>((done) => {
    child.on("error", (error) => {
      complaints += error.message;
      done(null);
    });
    child.on("close", done);
  });
  clearTimeout(deadline);
  signal.removeEventListener("abort", end);
  // What cells left running without walls.
  end();
  const seconds = (performance.now() - started) / 1000;
  const workspace = kernel.isWalled ? undefined : place.workspace;
  try {
    if (code !== 0) throw new Error(lastLine(complaints) || `exit code ${code}`);
    const record = readFileSync(join(place.home, "record.json"));
    if (record.length > MAX_ANSWER) throw new Error("its outputs are too large");
    return { ...recordSchema.parse(JSON.parse(record.toString())), seconds, workspace };
  } catch (error) {
    const notes = [`ipykernel ended early: ${(error as Error).message.slice(0, 500)}`];
    return { cells: cells.map(() => ({ state: "lost", outputs: [] })), seconds, notes, workspace };
  } finally {
    rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

function environmentOf(python: string, place: { workspace: string; home: string }) {
  const path = [dirname(python), "/usr/local/bin", "/usr/bin", "/bin"].join(":");
  return {
    ...ENVIRONMENT,
    PATH: path,
    HOME: place.workspace,
    IPYTHONDIR: join(place.home, "ipython"),
    JUPYTER_CONFIG_DIR: join(place.home, "config"),
    JUPYTER_DATA_DIR: join(place.home, "data"),
    JUPYTER_RUNTIME_DIR: join(place.home, "runtime"),
    JUPYTER_PLATFORM_DIRS: "1",
    MPLCONFIGDIR: join(place.home, "matplotlib"),
    XDG_CACHE_HOME: join(place.home, "cache"),
  };
}

/** No network, no other processes, nothing of the machine to write to but the workspace. */
function walls(
  place?: { workspace: string; home: string; tmp: string },
  shown: readonly string[] = [],
): string[] {
  const own = ["proc", "dev", "sys", "tmp", WORKSPACE.slice(1), HOME.slice(1)];
  const system = readdirSync("/")
    .filter((name) => !own.includes(name))
    .flatMap((name) => {
      const path = `/${name}`;
      const isLink = lstatSync(path).isSymbolicLink();
      return isLink ? ["--symlink", readlinkSync(path), path] : ["--ro-bind-try", path, path];
    });
  // An environment below /tmp would be covered.
  const hidden = shown.map((path) => resolve(path)).filter((path) => path.startsWith("/tmp/"));
  return [
    ...system,
    ...["--proc", "/proc", "--dev", "/dev"],
    ...(place === undefined ? ["--tmpfs", "/tmp"] : ["--bind", place.tmp, "/tmp"]),
    ...hidden.flatMap((path) => ["--ro-bind", path, path]),
    ...(place === undefined ? [] : ["--bind", place.workspace, WORKSPACE]),
    ...(place === undefined ? [] : ["--bind", place.home, HOME]),
    ...["--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent"],
    "--",
  ];
}

/** The side and all that it started. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
