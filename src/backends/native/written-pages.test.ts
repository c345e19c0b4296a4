import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import type { CodeExecution, REPLConfig } from "../backend.js";
import type { NativePythonSandbox } from "./sandbox.js";

const { runtime, unavailable } = await openNativeRuntime();
const open: NativePythonSandbox[] = [];
const text = (run: CodeExecution): string | undefined => run.result?.["text/plain"];
const CRASH = "import os; os.abort()";

async function create(config: REPLConfig = {}): Promise<NativePythonSandbox> {
  const sandbox = await runtime.createSandbox({
    preload: "standard",
    poolSize: 0,
    timeout: 10_000,
    checkpoints: "always",
    ...config,
  });
  open.push(sandbox);
  return sandbox;
}

/** Runs cells that must succeed. */
async function run(sandbox: NativePythonSandbox, ...cells: readonly string[]): Promise<void> {
  for (const code of cells) {
    const { status, error } = await sandbox.execute(code);
    expect(status, error?.traceback).toBe("ok");
  }
}

/** The oldest and the newest that Cellar knows, where they are installed. */
function otherPythons(): string[] {
  const tell = ["-c", "import sys; print(sys.executable)"];
  const versions = join(homedir(), ".pyenv", "versions");
  const folders = existsSync(versions) ? readdirSync(versions).sort() : [];
  return ["3.8", "3.9", "3.13", "3.14"].flatMap((version) => {
    const kept = folders.filter((name) => name.startsWith(`${version}.`));
    const paths = kept.map((name) => join(versions, name, "bin", "python3"));
    const found = [...paths, `python${version}`].map((path) =>
      spawnSync(path, tell, { encoding: "utf8" }),
    );
    return found.flatMap(({ status, stdout }) => (status === 0 ? [stdout.trim()] : [])).slice(0, 1);
  });
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.destroy()));
});

afterAll(() => runtime[Symbol.asyncDispose]());

describe("checkpoints by written pages", () => {
  let lacking: string | undefined;

  beforeAll(async () => {
    if (unavailable !== undefined) return;
    const sandbox = await create();
    await run(sandbox, "x = 1");
    const { method, reason } = await sandbox.checkpointMethod();
    if (method !== "pages") lacking = `no write tracking here: ${reason}`;
  });

  function check(name: string, body: () => Promise<void>): void {
    it(name, async (context) => {
      const why = unavailable ?? lacking;
      if (why !== undefined) context.skip(why);
      await body();
    });
  }

  check("work with the other Pythons of this machine too", async () => {
    const pythons = otherPythons();
    if (pythons.length === 0) process.stdout.write("no other Python is installed here\n");
    for (const python of pythons) {
      const sandbox = await create({ python, preload: "none" });
      await run(sandbox, "x = 1", "y = 2", "z = 3");
      expect([python, await sandbox.checkpointMethod()]).toEqual([python, { method: "pages" }]);
      await sandbox.execute(CRASH);
      expect(text(await sandbox.execute("x, y, z"))).toBe("(1, 2, 3)");
    }
  });

  check("hold memory that was mapped since, also what nobody has touched", async () => {
    const sandbox = await create();
    await run(
      sandbox,
      "import mmap, ctypes",
      "flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS\nblock = mmap.mmap(-1, 64 << 20, flags=flags)\nblock[5 << 20] = 7",
      "block[9 << 20] = 8",
    );
    await sandbox.execute(CRASH);
    expect(text(await sandbox.execute("block[5 << 20], block[9 << 20], block[50 << 20]"))).toBe(
      "(7, 8, 0)",
    );
    await sandbox.undo(2);
    expect(text(await sandbox.execute("block[5 << 20], block[9 << 20]"))).toBe("(7, 0)");
  });

  check("hold what was dropped, of which the kernel tells nothing", async () => {
    const sandbox = await create();
    await run(
      sandbox,
      "import mmap\nblock = mmap.mmap(-1, 16 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)",
      "block[:] = b'x' * len(block)",
      "y = 1",
      "block.madvise(mmap.MADV_DONTNEED)",
      "y = 2",
    );
    await sandbox.execute(CRASH);
    expect(text(await sandbox.execute("y, block[0], block[6 << 20], any(block[:])"))).toBe(
      "(2, 0, 0, False)",
    );
    await sandbox.undo(3);
    expect(text(await sandbox.execute("y, set(block[:])"))).toBe("(1, {120})");
  });

  check("hold a heap that has grown and shrunk, and a stack that has grown", async () => {
    const sandbox = await create();
    await run(
      sandbox,
      "import sys\nsys.setrecursionlimit(20000)\ndef deep(n):\n    return 0 if n == 0 else 1 + max(deep(n - 1), 0)",
      "rows = [bytes([i % 256]) * 3000 for i in range(3000)]",
      "depth = deep(9000)",
      "rows = rows[:10]",
      "more = [bytes(2000) for i in range(2000)]",
      "depth += deep(10)",
    );
    await sandbox.execute(CRASH);
    const look = "depth, len(rows), rows[9][0], len(more), sum(map(len, more)), deep(9500)";
    expect(text(await sandbox.execute(look))).toBe("(9010, 10, 9, 2000, 4000000, 9500)");
  });

  check("give each of several forks its own orders", async () => {
    const sandbox = await create();
    await run(sandbox, "x = ['start']", "x.append(1)");
    const twins = await Promise.all([1, 2, 3, 4].map(() => sandbox.fork()));
    open.push(...twins);
    const all = [sandbox, ...twins];
    await Promise.all(all.map((one, index) => one.execute(`x.append('own ${index}')`)));
    const shown = await Promise.all(all.map(async (one) => text(await one.execute("x"))));
    expect(shown).toEqual(all.map((_, index) => `['start', 1, 'own ${index}']`));
  });

  check("outlast signals to the stopped copy", async () => {
    const sandbox = await create();
    const pester = `
import os, signal
for name in os.listdir('/proc'):
    if name.isdigit() and int(name) not in (1, os.getpid()):
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGALRM):
            os.kill(int(name), number)`;
    await run(sandbox, "x = 1", "x = 2", pester, "x = 3");
    await sandbox.undo(2);
    expect(text(await sandbox.execute("x"))).toBe("2");
    await run(sandbox, pester);
    const crash = await sandbox.execute(CRASH);
    expect(crash.state.survived).toBe(true);
    expect(text(await sandbox.execute("x"))).toBe("2");
  });

  check("let nobody but init track writes", async () => {
    const sandbox = await create();
    const track = `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
[(libc.syscall(323, flags, mark), ctypes.get_errno()) for flags in (0, 1, 0o2004001) for mark in (0, 0x63656c6c)]`;
    await run(sandbox, "x = 1");
    expect(text(await sandbox.execute(track))).toBe(
      "[(-1, 1), (-1, 38), (-1, 1), (-1, 38), (-1, 1), (-1, 38)]",
    );
  });

  check("let no cell forget which pages it has written", async () => {
    const sandbox = await create();
    const scan = `
import ctypes, fcntl, os, struct
found = (ctypes.c_uint64 * 3)()
order = struct.pack('=12Q', 96, 3, 0x10000, 0x7f0000000000, 0, ctypes.addressof(found), 1, 0, 0, 2, 0, 2)
with open('/proc/self/pagemap', 'rb') as pages:
    try:
        fcntl.ioctl(pages, 0xC0606610, bytearray(order))
    except OSError as error:
        number = error.errno`;
    await run(sandbox, scan);
    expect(text(await sandbox.execute("number"))).toBe("1");
    expect((await sandbox.checkpointMethod()).method).toBe("pages");
  });

  check("leave a session that answers when a cell asks for them in the head's name", async () => {
    const sandbox = await create();
    const forge = `
import os, struct, socket, time
link = socket.socket(fileno=os.dup(1101))
for step in (1, 7, 1 << 40, 99):
    link.send(struct.pack('=QQQQ', step, 4096, 0, 1))
time.sleep(3)
x = 2`;
    await run(sandbox, "x = 1", forge, "x += 1");
    // It may lose what its answers were mistaken for, but not more than the result says.
    const { survived, lostCells = [] } = (await sandbox.execute(CRASH)).state;
    expect(survived).toBe(lostCells.length === 0);
    const left = [undefined, "1", "2", "3"][3 - lostCells.length];
    expect(text(await sandbox.execute("x"))).toBe(left);
    await run(sandbox, "y = 1", "y = 2");
    await sandbox.undo();
    expect(text(await sandbox.execute("y"))).toBe("1");
  });

  check("come to nothing where a cell asks with numbers that are none, and waits", async () => {
    const sandbox = await create();
    await run(sandbox, "x = 1");
    const forge = (step: string, address: string) => `
import os, struct, socket
link = socket.socket(fileno=os.dup(1101))
link.send(struct.pack('=QQQQ', ${step}, ${address}, 0, 1))
assert link.recvmsg(100)[0] == b'copy'
link.close()`;
    await run(
      sandbox,
      forge("1 << 63", "4096"),
      forge("1", "1 << 63"),
      forge("1", "(1 << 64) - 1"),
    );
    expect((await sandbox.execute(CRASH)).state.survived).toBe(true);
    expect(text(await sandbox.execute("x"))).toBe("1");
  });

  check("leave named pipes as they are, which nobody may be writing to", async () => {
    const sandbox = await create();
    const pipes = `
import os
os.mkfifo('pipe')
both = os.open('pipe', os.O_RDWR)
reader = os.open('pipe', os.O_RDONLY)
os.mkfifo('other')
passing = os.open('other', os.O_RDWR)
waiting = os.open('other', os.O_RDONLY)
os.close(passing)`;
    await run(sandbox, pipes, "x = 2");
    expect((await sandbox.execute(CRASH)).state).toMatchObject({ survived: true });
    const look = "os.write(both, b'in'), os.read(reader, 2), x";
    expect(text(await sandbox.execute(look))).toBe("(2, b'in', 2)");
  });

  check("hold more open files than one message can name", async () => {
    const sandbox = await create({ limits: { openFiles: 2048 } });
    const opening = `
with open('f', 'w') as file: file.write('a' * 100_000)
files = [open('f', 'rb', buffering=0) for _ in range(1200)]
for number, file in enumerate(files): file.seek(90_000 + number)`;
    await run(sandbox, opening, "files[-1].seek(5)");
    expect((await sandbox.execute(CRASH)).state).toMatchObject({ survived: true });
    const look = "[files[at].tell() for at in (0, 1198, -1)]";
    expect(text(await sandbox.execute(look))).toBe("[90000, 91198, 5]");
  });

  check("leave the handlers of all signals as they are", async () => {
    const sandbox = await create();
    const handlers = `
import os, signal
seen = []
for number in (signal.SIGTRAP, signal.SIGUSR1):
    signal.signal(number, lambda got, _: seen.append(got))
def send():
    for number in (signal.SIGTRAP, signal.SIGUSR1): os.kill(os.getpid(), number)
    return [int(got) for got in seen]`;
    await run(sandbox, handlers, "x = 1");
    expect(text(await sandbox.execute("send()"))).toBe("[5, 10]");
    await sandbox.execute(CRASH);
    expect(text(await sandbox.execute("send()"))).toBe("[5, 10, 5, 10]");
    await run(sandbox, "signal.signal(signal.SIGTRAP, signal.SIG_IGN)", "x = 2");
    expect(text(await sandbox.execute("len(send())"))).toBe("5");
  });

  check("become copies of a process that makes code of its own", async () => {
    const sandbox = await create();
    const code = `
import mmap
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
x = 1`;
    await run(sandbox, code, "x = 2");
    expect((await sandbox.checkpointMethod()).method).toBe("fork");
    expect((await sandbox.execute(CRASH)).state.survived).toBe(true);
    expect(text(await sandbox.execute("x"))).toBe("2");
  });
});
