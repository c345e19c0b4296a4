import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import type { CodeExecution, ISandbox, REPLConfig } from "../backend.js";

const AGENT = { maxGrepResults: 100, requireExplorationBeforeFinal: false, minExplorationCalls: 1 };
const { runtime, unavailable } = await openNativeRuntime();
const folder = mkdtempSync(join(tmpdir(), "cellar-session-walls-test-"));
const isRoot = process.getuid?.() === 0;

/** Says what came of each of some calls: "done", or the error's name. */
const ATTEMPTS = `
import errno
def attempt(work, *given):
    try: work(*given)
    except OSError as error: return errno.errorcode[error.errno]
    return 'done'
`;

function check(name: string, body: () => Promise<void>): void {
  it(name, async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await body();
  });
}

function open(config: REPLConfig = {}): Promise<ISandbox> {
  return runtime.createSandbox({ preload: "none", poolSize: 0, checkpoints: "always", ...config });
}

async function shown(sandbox: ISandbox, code: string): Promise<string | undefined> {
  const run: CodeExecution = await sandbox.execute(code);
  expect(run.error).toBeNull();
  return run.result?.["text/plain"];
}

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

describe("a cell and the processes around it", () => {
  check("cannot change how init is scheduled, nor its limits", async () => {
    await using sandbox = await open();
    const code = `${ATTEMPTS}
import os, resource
[attempt(*each) for each in (
    (os.sched_setscheduler, 1, os.SCHED_IDLE, os.sched_param(0)),
    (os.sched_setparam, 1, os.sched_param(0)),
    (os.sched_setaffinity, 1, {0}),
    (os.setpriority, os.PRIO_PROCESS, 1, 19),
    (os.setpriority, os.PRIO_PGRP, 0, 19),
    (os.setpriority, os.PRIO_USER, 0, 19),
    (resource.prlimit, 1, resource.RLIMIT_NOFILE, (9, 9)),
)]`;
    expect(await shown(sandbox, code)).toBe(`[${Array(7).fill("'EPERM'").join(", ")}]`);
  });

  check("can change its own, by its number too", async () => {
    await using sandbox = await open();
    const code = `
import os, resource
own = os.getpid()
os.sched_setaffinity(own, os.sched_getaffinity(own))
os.sched_setscheduler(own, os.SCHED_BATCH, os.sched_param(0))
os.setpriority(os.PRIO_PROCESS, own, 5)
resource.prlimit(own, resource.RLIMIT_NOFILE, (99, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
os.sched_getscheduler(0) == os.SCHED_BATCH, os.getpriority(0, 0), resource.prlimit(1, 7)[0] > 0, resource.getrlimit(7)[0]`;
    expect(await shown(sandbox, code)).toBe("(True, 5, True, 99)");
    expect(await shown(sandbox, "os.nice(1)")).toBe("6");
  });

  check("reads nothing of the states that were parked, and they still come back", async () => {
    await using sandbox = await open();
    await sandbox.execute("secret = 'of the ' + 'past'");
    await sandbox.execute("del secret");
    const copies = `${ATTEMPTS}
import os
others = [int(each) for each in os.listdir('/proc') if each.isdigit() and int(each) not in (1, os.getpid())]
(len(others) > 0, {attempt(open, f'/proc/{each}/{name}', 'rb') for each in others for name in ('mem', 'environ')})`;
    // Without control groups init has to count what the copies hold, and so they stay readable.
    const counted = sandbox.info.isolation.level === "L3";
    expect(await shown(sandbox, copies)).toBe(`(True, {'${counted ? "EACCES" : "done"}'})`);
    await sandbox.undo(2);
    expect(await shown(sandbox, "secret")).toBe("'of the past'");
    expect(await shown(sandbox, "len(open('/proc/self/environ').read()) > 0")).toBe("True");
    await using twin = await sandbox.fork();
    expect(await shown(twin, "secret")).toBe("'of the past'");
  });
});

describe("a cell and files of the host", () => {
  check("takes no lease and hears of no change", async () => {
    const file = join(folder, "leased");
    writeFileSync(file, "x", { mode: 0o644 });
    await using sandbox = await open({ mounts: [{ host: folder, guest: "/data" }] });
    const code = `${ATTEMPTS}
import ctypes, fcntl, os, signal, termios
libc = ctypes.CDLL(None, use_errno=True)
for number in (signal.SIGIO,): signal.signal(number, signal.SIG_IGN)
own = os.open('/workspace/own', os.O_CREAT | os.O_RDONLY)
[attempt(fcntl.fcntl, own, 1024, kind) for kind in (0, 1)] + [
    attempt(fcntl.fcntl, os.open('/usr', os.O_RDONLY), 1026, 1),
    attempt(fcntl.ioctl, os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY), 0x5423, b'\\0' * 4),
]`;
    expect(await shown(sandbox, code)).toBe("['EPERM', 'EPERM', 'EPERM', 'EPERM']");
  });

  const WATCH = `
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
watcher = libc.inotify_init1(0)
added = libc.inotify_add_watch(watcher, b'/usr/bin', 0x20)
added > 0, added > 0 or errno.errorcode[ctypes.get_errno()]`;

  check("watches none unless that is asked for", async () => {
    await using blind = await open();
    expect(await shown(blind, WATCH)).toMatch(/^\(False, 'E/);
    const hinted = await blind.execute("raise OSError(24, 'inotify instance limit reached')");
    expect(hinted.error?.hint).toContain("limits.inotifyWatches");
    await using seeing = await open({ limits: { inotifyWatches: 2 } });
    expect(await shown(seeing, WATCH)).toBe("(True, True)");
    const more = "[libc.inotify_add_watch(watcher, path, 0x20) > 0 for path in (b'/etc', b'/tmp')]";
    expect(await shown(seeing, more)).toBe("[True, False]");
    // What one has used up, another still has.
    await using neighbour = await open({ limits: { inotifyWatches: 2 } });
    expect(await shown(neighbour, WATCH)).toBe("(True, True)");
  });
});

describe("sessions beside each other", () => {
  check("leave no marks on a context that they share", async () => {
    const file = join(folder, "shared");
    writeFileSync(file, `${"x".repeat(63)}\n`.repeat(1 << 20));
    const born = async () => {
      const sandbox = await open({ agent: AGENT });
      await sandbox.initialize({ file });
      return sandbox;
    };
    await using one = await born();
    await using other = await born();
    const marks =
      "status = os.fstat(1099); (oct(status.st_mode), status.st_mtime_ns, os.lseek(1099, 0, 1))";
    const before = await shown(other, `import os\n${marks}`);
    const code = `${ATTEMPTS}
import os
own = '/proc/self/fd/1099'
os.lseek(1099, 4242, 0)
[attempt(os.utime, 1099, (1, 1)), attempt(os.fchmod, 1099, 0), attempt(os.chmod, own, 0),
 attempt(os.setxattr, own, b'user.x', b'y'), attempt(os.open, own, os.O_RDWR) == 'done', attempt(os.truncate, own, 0) == 'done']`;
    expect(await shown(one, code)).toBe("['EROFS', 'EROFS', 'EROFS', 'EROFS', False, False]");
    expect(await shown(other, marks)).toBe(before);
    expect(before).toMatch(/, 0\)$/);
    expect(await shown(other, "grep('x$').total")).toBe(String(1 << 20));
    expect(await shown(one, "grep('x$').total")).toBe(String(1 << 20));
  });

  check("have ids of their own on the host, and counters of their own with them", async () => {
    await using one = await open();
    await using other = await open();
    const uids = await Promise.all([one, other].map((sandbox) => hostUid(sandbox)));
    if (!isRoot) {
      expect(uids).toEqual([process.getuid?.(), process.getuid?.()]);
      return;
    }
    expect(new Set(uids).size).toBe(2);
    for (const uid of uids) expect(uid).toBeGreaterThan(1_900_000_001);
    const flood = `
import resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (1110, 1110))
kept, sent = [], 0
try:
    while sent < 3000:
        kept.append(socket.socketpair())
        socket.send_fds(kept[-1][0], [b'x'], [0] * 250)
        sent += 250
except OSError as error:
    sent = error.errno
sent`;
    expect(await shown(one, flood)).toBe("109");
    const send = "import socket; a, b = socket.socketpair(); socket.send_fds(a, [b'x'], [0])";
    expect(await shown(other, send)).toBe("1");
  });
});

/** Of the head that answers, as this process sees it. */
async function hostUid(sandbox: ISandbox): Promise<number> {
  const name = randomBytes(6).toString("hex");
  // /proc is read-only in there, so the name is set by a call.
  await shown(sandbox, `import ctypes; ctypes.CDLL(None).prctl(15, b'${name}', 0, 0, 0)`);
  for (const pid of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    try {
      if (readFileSync(`/proc/${pid}/comm`, "utf8").trim() !== name) continue;
      return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
    } catch {
      // Gone meanwhile.
    }
  }
  throw new Error("the head of the sandbox is not there");
}
