import { spawnSync } from "node:child_process";
import { accessSync, chmodSync, constants, existsSync, mkdtempSync, rmSync } from "node:fs";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

/** What an ordinary user has nearly everywhere: walls, and no control groups. */
const NOBODY = 65_534;
const LIBRARY = fileURLToPath(new URL("../../../dist/index.js", import.meta.url));
const PYTHON = "/usr/bin/python3";
const isRoot = process.getuid?.() === 0;

/** Raw calls, for a cell is not bound to what the runner has put in the place of functions. */
const RAW = `
import ctypes, errno, os, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
def told(result):
    return 'PWNED' if result not in (-1, None, 2 ** 64 - 1) else errno.errorcode[ctypes.get_errno()]
zero = os.open('/dev/zero', os.O_RDWR)
memory = libc.memfd_create(b'x', 0)
`;

const CELLS: readonly (readonly [name: string, code: string, expected: string])[] = [
  [
    "memory that belongs to no process",
    `${RAW}[told(memory), told(libc.mmap(None, 4096, 3, 0x21, -1, 0)), told(libc.mmap(None, 4096, 3, 0x01, zero, 0))]`,
    "['ENOSYS', 'EPERM', 'ENODEV']",
  ],
  // The wall began with another one, which all its sessions would have in common.
  ["standard input", "import os; os.readlink('/proc/self/fd/0')", "'/dev/null'"],
  ["zeros", "open('/dev/zero', 'rb').read(5)", "b'\\x00\\x00\\x00\\x00\\x00'"],
  [
    "a map that is shared with a fork",
    `import mmap, os
shared = mmap.mmap(-1, 4096)
if os.fork() == 0:
    shared[0] = 7
    os._exit(0)
os.wait(); shared[0], type(shared).__name__, isinstance(shared, mmap.mmap)`,
    "(7, 'mmap', True)",
  ],
  [
    "a private map, and one of a file",
    `import mmap
private = mmap.mmap(-1, 8192, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
copied = mmap.mmap(-1, 8192, access=mmap.ACCESS_COPY)
open('/tmp/mapped', 'wb').write(b'abc')
with open('/tmp/mapped', 'r+b') as file: found = mmap.mmap(file.fileno(), 0)[:]
len(private), len(copied), found`,
    "(8192, 8192, b'abc')",
  ],
  [
    "a memory file",
    `import os
file = os.memfd_create('some')
os.write(file, b'abc'), os.pread(file, 3, 0), os.get_inheritable(file)`,
    "(3, b'abc', False)",
  ],
  [
    "shared memory of multiprocessing",
    `from multiprocessing import Value, shared_memory
block = shared_memory.SharedMemory(create=True, size=4096)
block.buf[0] = 9
other = shared_memory.SharedMemory(block.name)
seen = other.buf[0], Value('i', 4).value
block.unlink(); seen`,
    "(9, 4)",
  ],
];

/** Cells that take more than their 200 MB in ways that no process is charged for. */
const FLOODS: Readonly<Record<string, string>> = {
  "page tables": `${RAW}
far = libc.mmap(None, 1 << 40, 1, 0x4022, -1, 0)
for place in range(1 << 19): ctypes.c_char.from_address(far + (place << 21)).value
time.sleep(30)`,
  sockets: `
import resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (1100, 1110))
kept = [socket.socketpair() for _ in range(500)]
time.sleep(30)`,
};

const SCRIPT = `
const { createSandbox } = await import(${JSON.stringify(LIBRARY)});
const sandbox = await createSandbox({
  backend: "native", preload: "none", poolSize: 0, python: ${JSON.stringify(PYTHON)}, limits: { memoryMb: 200 },
});
const cells = ${JSON.stringify([...CELLS.map(([, code]) => code), ...Object.values(FLOODS)])};
const runs = [];
for (const code of cells) {
  const run = await sandbox.execute(code);
  runs.push([run.status, run.result?.["text/plain"] ?? run.error?.message]);
}
const { method } = await sandbox.checkpointMethod();
console.log(JSON.stringify({ method, level: sandbox.info.isolation.level, runs }));
await sandbox.destroy();
process.exit(0);`;

interface Told {
  readonly method: string;
  readonly level: string;
  readonly runs: readonly (readonly string[])[];
}

/** Whether the kernel tells which pages a process has written. */
function canTrack(): boolean {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  return process.arch === "x64" && (major > 6 || (major === 6 && minor >= 7));
}

function obstacle(): string | undefined {
  if (!existsSync(LIBRARY)) return "the library is not built";
  if (!existsSync(PYTHON)) return `${PYTHON} is not there`;
  if (!isRoot) return undefined;
  try {
    accessSync("/usr/bin/setpriv", constants.X_OK);
  } catch {
    return "setpriv is not installed";
  }
  const seen = asUser(["test", "-r", LIBRARY], "/");
  return seen.status === 0 ? undefined : "an ordinary user cannot read this checkout";
}

function asUser(command: readonly string[], temporary: string) {
  const user = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  const [program = "", ...rest] = isRoot ? [...user, ...command] : command;
  const env = { PATH: process.env.PATH, HOME: temporary, TMPDIR: temporary };
  return spawnSync(program, rest, { encoding: "utf8", env, timeout: 100_000 });
}

describe("where no control group counts memory", () => {
  it("none is had that no process is charged for, and ordinary code does not notice", (context) => {
    const missing = obstacle();
    if (missing !== undefined) context.skip(missing);
    const temporary = mkdtempSync(join(tmpdir(), "cellar-user-"));
    chmodSync(temporary, 0o777);
    try {
      const done = asUser([process.execPath, "--input-type=module", "-e", SCRIPT], temporary);
      if (done.stdout === "") context.skip(`an ordinary user gets no sandbox here: ${done.stderr}`);
      const { method, level, runs } = JSON.parse(done.stdout) as Told;
      if (level !== "L3-") context.skip(`this user has level ${level}`);
      const names = [...CELLS.map(([name]) => name), ...Object.keys(FLOODS)];
      const seen = runs.map(([status, text], index) => [names[index], status, text]);
      expect(seen).toEqual([
        ...CELLS.map(([name, , expected]) => [name, "ok", expected]),
        ...Object.keys(FLOODS).map((name) => [name, "oom", expect.any(String)]),
      ]);
      expect(method).toBe(canTrack() ? "pages" : "fork");
    } finally {
      rmSync(temporary, { recursive: true, force: true, maxRetries: 10 });
    }
  }, 120_000);
});
