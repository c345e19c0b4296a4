import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { findJail } from "../../test/support/jail.js";
import { wallOptions } from "./bwrap.js";
import { systemLayout } from "./layout.js";

const NOBODY = 65534;
const SYSTEM_PYTHON = "/usr/bin/python3";

/** Does what a zygote does for a session, and tells how each step went. */
const ZYGOTE = `
import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)
seen = {}

def attempt(name, returned):
    seen[name] = "ok" if returned >= 0 else os.strerror(ctypes.get_errno())

def write(path):
    try:
        open(path, "w").close()
        seen["write " + path] = "ok"
    except OSError as error:
        seen["write " + path] = error.strerror

def mount(source, target, kind, flags, data=None):
    attempt("mount " + target.decode(), libc.mount(source, target, kind, ctypes.c_ulong(flags), data))

seen["uid map"] = open("/proc/self/uid_map").read().split()
seen["environment"] = sorted(os.environ)
seen["root"] = sorted(os.listdir("/"))
seen["interfaces"] = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
for path in "/x /dev/x /usr/x /opt/cellar/x /data/kept/x /data/open/x /tmp/x /run/cellar/x".split():
    write(path)
libc.unshare(0x20000000)
reader, writer = os.pipe()
if os.fork() == 0:
    seen = {}
    attempt("unshare", libc.unshare(0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x40000000))
    mount(b"none", b"/", None, 0x44000)
    mount(b"proc", b"/proc", b"proc", 14)
    for target in (b"/tmp", b"/workspace", b"/dev/shm"):
        mount(b"tmpfs", target, b"tmpfs", 6, b"size=1m,mode=1777")
    attempt("hide sockets", libc.umount2(b"/run/cellar", 2))
    attempt("unshare user", libc.unshare(0x10000000))
    open("/proc/self/uid_map", "w").write("1000 0 1")
    seen["session uid"] = os.getuid()
    seen["session pid"] = os.getpid()
    seen["session sockets"] = os.listdir("/run/cellar")
    for path in "/y /dev/y /tmp/y /workspace/y /dev/shm/y /var/tmp/y".split():
        write(path)
    os.write(writer, json.dumps(seen).encode())
    os._exit(0)
os.wait()
print(json.dumps(dict(seen, **json.loads(os.read(reader, 65536)))))
`;

describe("the outer wall on this machine", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "cellar-wall-"));
    chmodSync(folder, 0o755);
    for (const name of ["runner", "sockets", "kept", "open"]) {
      mkdirSync(join(folder, name));
      chmodSync(join(folder, name), 0o777);
    }
    writeFileSync(join(folder, "runner", "zygote.py"), ZYGOTE);
    writeFileSync(join(folder, "canary"), "secret");
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it("lets a zygote wall off its sessions, and write nowhere else", async (context) => {
    const jail = await findJail();
    if ("missing" in jail) {
      return context.skip(jail.missing);
    }
    const isRoot = process.getuid?.() === 0;
    // Nobody may not read an interpreter in root's home.
    const python = isRoot
      ? { executable: SYSTEM_PYTHON, roots: [] }
      : { executable: jail.interpreter.guestExecutable, roots: jail.interpreter.roots };
    const options = wallOptions({
      python,
      runner: { host: join(folder, "runner"), guest: "/opt/cellar" },
      sockets: { host: join(folder, "sockets"), guest: "/run/cellar" },
      mounts: [
        { host: join(folder, "kept"), guest: "/data/kept", readonly: true },
        { host: join(folder, "open"), guest: "/data/open", readonly: false },
      ],
      hostname: "cellar",
      files: [],
      system: systemLayout(),
      tmpMb: 16,
      cgroupNamespace: true,
    });
    const child = spawn(
      jail.bwrap,
      [...options, "--", python.executable, "-I", "/opt/cellar/zygote.py"],
      {
        env: { CANARY: "secret" },
        stdio: ["ignore", "pipe", "pipe"],
        ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
      },
    );
    const [output, errors] = await Promise.all([
      text(child.stdout ?? Readable.from([])),
      text(child.stderr ?? Readable.from([])),
    ]);
    expect(errors).toBe("");
    const seen = z.record(z.string(), z.unknown()).parse(JSON.parse(output));

    const readOnly = "Read-only file system";
    expect(seen).toMatchObject({
      "uid map": ["0", String(isRoot ? NOBODY : process.getuid?.()), "1"],
      interfaces: ["lo"],
      "write /x": readOnly,
      "write /dev/x": readOnly,
      "write /usr/x": readOnly,
      "write /opt/cellar/x": readOnly,
      "write /data/kept/x": readOnly,
      "write /data/open/x": "ok",
      "write /tmp/x": "ok",
      "write /run/cellar/x": "ok",
      unshare: "ok",
      "mount /": "ok",
      "mount /proc": "ok",
      "mount /tmp": "ok",
      "mount /workspace": "ok",
      "mount /dev/shm": "ok",
      "hide sockets": "ok",
      "unshare user": "ok",
      "session uid": 1000,
      "session pid": 1,
      "session sockets": [],
      "write /y": readOnly,
      "write /dev/y": readOnly,
      "write /tmp/y": "ok",
      "write /workspace/y": "ok",
      "write /dev/shm/y": "ok",
      "write /var/tmp/y": "ok",
    });
    expect(seen.environment).not.toContain("CANARY");
    expect(seen.root).not.toContain("root");
    expect(readdirSync(join(folder, "open"))).toEqual(["x"]);
    expect(readdirSync(join(folder, "kept"))).toEqual([]);
  });
});
