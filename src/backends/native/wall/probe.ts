import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import { CellarError } from "../../../errors.js";
import type { Cgroups } from "../../../isolation/cgroups/cgroups.js";
import type { Finding, ProbeFacts } from "../../../isolation/levels.js";
import { remedyFor } from "../../../isolation/remedies.js";
import { temporaryTrouble } from "../../../isolation/temporary-trouble.js";
import type { Session } from "../../session/session.js";

const CANARY = "canary";
const NAMESPACES = ["pid", "mnt", "ipc", "uts", "net", "user"] as const;

/** Every answer has a control: what must work is tried beside what must not. */
export const QUESTIONS = `
def probe(canary, port):
    import ctypes, os, resource, socket
    def attempt(work):
        try:
            work()
            return True
        except OSError:
            return False
    def reach(address):
        with socket.create_connection(address, 2) as connection:
            # On a loopback of its own a connection may choose the port it goes to, and meet itself.
            if connection.getsockname() == connection.getpeername():
                raise OSError
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    libc = ctypes.CDLL(None, use_errno=True)
    # Before anything listens here: it could get the host's port number, and be taken for the host.
    reaches_host = attempt(lambda: reach(("127.0.0.1", port)))
    inner = socket.socket()
    inner.bind(("127.0.0.1", 0))
    inner.listen(1)
    return {
        "reads_canary": attempt(lambda: open(canary).read()),
        "reads_own_file": attempt(lambda: open("/etc/passwd").read()),
        "reaches_host": reaches_host,
        "reaches_itself": attempt(lambda: reach(inner.getsockname())),
        "writes_root": attempt(lambda: open("/probe", "w").close()),
        "writes_workspace": attempt(lambda: open("/workspace/.probe", "w").close()),
        "keyctl": libc.syscall(250 if os.uname().machine == "x86_64" else 219, 0, 0, 0, 0, 0),
        "capabilities": int(status["CapEff"], 16) | int(status["CapBnd"], 16),
        "no_new_privileges": int(status["NoNewPrivs"]),
        "seccomp": int(status["Seccomp"]),
        "core_limit": resource.getrlimit(resource.RLIMIT_CORE)[1],
        "process_limit": resource.getrlimit(resource.RLIMIT_NPROC)[1],
        "environment": sorted(os.environ),
        "namespaces": {
            name: os.readlink("/proc/self/ns/" + name)
            for name in ("pid", "mnt", "ipc", "uts", "net", "user")
        },
    }
answer = probe(_canary, _port)
`;

const answerSchema = z.object({
  reads_canary: z.boolean(),
  reads_own_file: z.boolean(),
  reaches_host: z.boolean(),
  reaches_itself: z.boolean(),
  writes_root: z.boolean(),
  writes_workspace: z.boolean(),
  keyctl: z.int(),
  capabilities: z.number(),
  no_new_privileges: z.int(),
  seccomp: z.int(),
  core_limit: z.int(),
  process_limit: z.int(),
  environment: z.array(z.string()),
  namespaces: z.record(z.string(), z.string()),
});

const SHARED_NETWORK_FIX =
  'Leave the option network at "none", or lower minIsolation to "L1": nothing then keeps code from ' +
  "the services of this machine and its network.";

/** What the wall sets itself, under names that the host may have too. */
export const GIVEN_ENVIRONMENT =
  /^(PATH|LANG|LC_CTYPE|HOME|PWD|MPL\w+|PYTHON\w+|IPYTHONDIR|XDG_(CACHE|CONFIG|DATA|STATE)_HOME|\w+_NUM_THREADS|KMP_\w+)$/;

export interface ProbeSubject {
  readonly session: Session;
  readonly zygotePid: number;
  readonly cgroups: Cgroups;
  readonly temporary: string;
  /** What the host's environment has: finding one of these inside means that it leaks. */
  readonly environmentNames: readonly string[];
}

/** Tries the walls of a live session from inside and looks at them from outside. */
export async function probeWalls(subject: ProbeSubject): Promise<ProbeFacts> {
  const folder = layCanary(subject.temporary);
  const canary = join(folder, CANARY);
  const server = await listenOnLoopback();
  try {
    const { port } = server.address() as AddressInfo;
    const head = await subject.session.head(0, 0);
    await head.request("initialize", {
      step: 1,
      variables: { _canary: canary, _port: port },
      checkpoint: "off",
    });
    const run = await head.request("execute", {
      step: 2,
      number: 0,
      code: QUESTIONS,
      max_output: 0,
      checkpoint: "off",
    });
    const found = await head.request("get_variable", { name: "answer" });
    const answer = answerSchema.safeParse(found.found ? found.value : undefined);
    if (!answer.success) {
      const why = run.error === null ? "the test cell gave no answer" : run.error.message;
      // Nothing is known then of the isolation here, for better or worse.
      throw new CellarError("START_FAILED", `could not test the sandbox: ${why}`, {
        remedy: remedyFor("unknown"),
      });
    }
    return facts(answer.data, subject);
  } finally {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A folder with a file in it that everybody may read. */
function layCanary(temporary: string): string {
  try {
    const folder = mkdtempSync(join(temporary, `cellar-${process.pid}-`));
    writeFileSync(join(folder, CANARY), randomBytes(16).toString("hex"), { mode: 0o644 });
    return folder;
  } catch (error) {
    throw temporaryTrouble("the files of a session", temporary, error);
  }
}

function facts(answer: z.infer<typeof answerSchema>, subject: ProbeSubject): ProbeFacts {
  const strange = answer.environment.filter(
    (name) => subject.environmentNames.includes(name) && !GIVEN_ENVIRONMENT.test(name),
  );
  const shared = NAMESPACES.filter(
    (name) => answer.namespaces[name] === readlinkSync(`/proc/self/ns/${name}`),
  );
  const sharing = `shared with the host: ${shared.join(", ")}`;
  const uid = hostUid(subject.zygotePid);
  return {
    limits: finding(
      answer.core_limit === 0 && answer.process_limit > 0 && strange.length === 0,
      "rlimits set, nothing of the host's environment",
      strange.length > 0 ? `the environment shows ${strange.join(", ")}` : "rlimits are not set",
    ),
    "host-uid": finding(uid > 0, `uid ${uid} on the host`, "root of the host maps in"),
    seccomp: finding(
      answer.seccomp === 2 &&
        answer.no_new_privileges === 1 &&
        answer.capabilities === 0 &&
        answer.keyctl < 0,
      "filter installed, no capabilities, no new privileges",
      "the filter or the capability drop is not in force",
    ),
    landlock: { ok: false, detail: "not used: the mount namespace confines files" },
    "outer-wall": finding(
      shared.length === 0 && !answer.writes_root && answer.writes_workspace,
      "bubblewrap, read-only root",
      shared.length > 0 ? sharing : "the root folder can be written, or the workspace cannot",
    ),
    "inner-wall": {
      ...finding(shared.length === 0, `own ${NAMESPACES.join(", ")} namespaces`, sharing),
      ...(shared.includes("net") && { fix: SHARED_NETWORK_FIX }),
    },
    canary: finding(
      !answer.reads_canary && answer.reads_own_file,
      "a world-readable file of the host cannot be opened; its own can",
      answer.reads_canary ? "a file of the host was read" : "the control read failed",
    ),
    network: finding(
      !answer.reaches_host && answer.reaches_itself,
      "a listening port of the host cannot be reached; its own can",
      answer.reaches_host ? "a port of the host was reached" : "the control connection failed",
    ),
    ...groupFacts(subject),
    "guest-kernel": { ok: false, detail: "the kernel is shared with the host" },
  };
}

function finding(ok: boolean, good: string, bad: string): Finding {
  return { ok, detail: ok ? good : bad };
}

function hostUid(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^Uid:\s+(\d+)/m.exec(status)?.[1] ?? 0);
}

function groupFacts({ cgroups, session }: ProbeSubject): ProbeFacts {
  if (cgroups.version === undefined) {
    const missing = { ok: false, detail: cgroups.missing, fix: cgroups.remedy };
    return { "cgroup.memory": missing, "cgroup.pids": missing };
  }
  const places =
    cgroups.version === 1
      ? cgroups.directories
      : { memory: cgroups.directories.unified, pids: cgroups.directories.unified };
  const holds = (place: string): Finding =>
    inhabited(join(place, session.id))
      ? { ok: true, detail: `cgroup v${cgroups.version}, one group per session` }
      : { ok: false, detail: "the session is not in its group", fix: remedyFor("cgroups") };
  return { "cgroup.memory": holds(places.memory), "cgroup.pids": holds(places.pids) };
}

function inhabited(group: string): boolean {
  try {
    return readFileSync(join(group, "cgroup.procs"), "utf8").trim() !== "";
  } catch {
    return false;
  }
}

async function listenOnLoopback(): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return server;
}
