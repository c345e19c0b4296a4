import { beforeAll, describe, expect, it } from "vitest";
import { findJail, type Jail, type Outcome, runJailed } from "../../../test/support/jail.js";
import { seccompProgram } from "./seccomp.js";

const ARCHITECTURE = process.arch === "arm64" ? "arm64" : "x64";
const NO_FILTER = Buffer.from("060000000000ff7f", "hex");

const SIGSEGV = 11;
const SIGSYS = 31;

function rawCall(call: string): string {
  return `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
returned = libc.syscall(${call})
print("PWNED" if returned >= 0 else ctypes.get_errno())`;
}

/** x86-64 calls that must come back with the error number at the end. */
const REFUSED_CALLS: Readonly<Record<string, readonly [call: string, errno: number]>> = {
  mount: ["165, b'none', b'/tmp', b'tmpfs', 0, 0", 1],
  pivot_root: ["155, b'/tmp', b'/tmp'", 1],
  unshare: ["272, 0x10000000", 1],
  "clone into a user namespace": ["56, 0x10000011, 0, 0, 0, 0", 1],
  clone3: ["435, 0, 0", 38],
  add_key: ["248, b'user', b'x', b'y', 1, -3", 1],
  bpf: ["321, 0, 0, 0", 1],
  userfaultfd: ["323, 1", 1],
  perf_event_open: ["298, 0, 0, -1, -1, 0", 1],
  kexec_load: ["246, 0, 0, 0, 0", 1],
  init_module: ["175, 0, 0, b''", 1],
  open_tree: ["428, -100, b'/', 1", 1],
  fsopen: ["430, b'tmpfs', 0", 1],
  reboot: ["169, 0xfee1dead, 672274793, 0, 0", 1],
  settimeofday: ["164, (ctypes.c_long * 2)(), 0", 1],
  modify_ldt: ["154, 0, 0, 0", 1],
  pidfd_getfd: ["438, 0, 0, 0", 1],
  chroot: ["161, b'/tmp'", 1],
  "seccomp with a listener": ["317, 1, 8, 0", 1],
  swapon: ["167, b'/tmp/a', 0", 1],
  io_uring_setup: ["425, 1, bytes(120)", 1],
  ptrace: ["101, 0, 0, 0, 0", 1],
  "a call of the future": ["500", 38],
};

const FOREIGN_CALLS = {
  "32-bit gate": `
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
print("PWNED", ctypes.CFUNCTYPE(ctypes.c_int)(address)())`,
  "x32 call": rawCall("0x40000000 + 39"),
};

const SOCKETS = {
  vsock: "import socket; socket.socket(40, socket.SOCK_STREAM); print('PWNED')",
  netlink: "import socket; socket.socket(16, socket.SOCK_RAW, 0); print('PWNED')",
  packet: "import socket; socket.socket(17, socket.SOCK_RAW, 0); print('PWNED')",
  "kernel crypto": "import socket; socket.socket(38, socket.SOCK_SEQPACKET, 0); print('PWNED')",
};

const EVERYDAY = {
  threads: `
import threading
done = []
workers = [threading.Thread(target=done.append, args=(n,)) for n in range(8)]
[w.start() for w in workers]; [w.join() for w in workers]
print(sorted(done) == list(range(8)))`,
  subprocess: `
import subprocess
print(subprocess.run(["sh", "-c", "echo a | cat; exit 3"], stdout=-1).returncode == 3)`,
  "process pool": `
import multiprocessing
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(abs, [-1, -2, -3]) == [1, 2, 3])`,
  "shared memory": `
from multiprocessing import Lock, Queue, Value, shared_memory
block = shared_memory.SharedMemory(create=True, size=4096)
block.buf[0] = 7
other = shared_memory.SharedMemory(block.name)
print(other.buf[0] == 7 and Value("i", 3).value == 3 and Lock().acquire())
other.close(); block.close(); block.unlink()`,
  asyncio: `
import asyncio
async def main():
    async def answer(reader, writer):
        writer.write(await reader.readline()); await writer.drain(); writer.close()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"hi\\n")
    line = await reader.readline()
    shell = await asyncio.create_subprocess_exec("true")
    print(line == b"hi\\n" and await shell.wait() == 0)
    server.close()
asyncio.run(main())`,
  sqlite: `
import sqlite3
base = sqlite3.connect("/tmp/base.db"); base.execute("pragma journal_mode=wal")
base.execute("create table t(x)"); base.executemany("insert into t values(?)", [(1,), (2,)])
base.commit(); print(base.execute("select sum(x) from t").fetchone() == (3,))`,
  files: `
import fcntl, mmap, os, shutil, tempfile
os.chdir(tempfile.mkdtemp()); os.mkfifo("fifo"); open("a", "wb").write(b"x" * 9000)
shutil.copyfile("a", "b"); os.symlink("b", "c"); os.link("b", "d"); os.chmod("d", 0o600)
with open("b", "r+b") as f:
    fcntl.flock(f, fcntl.LOCK_EX); mmap.mmap(f.fileno(), 0)[0:1] = b"y"
print(open("c", "rb").read(1) == b"y" and len(list(os.scandir("."))) == 5)`,
  timers: `
import selectors, signal, time
hits = []
signal.signal(signal.SIGALRM, lambda *_: hits.append(1)); signal.setitimer(signal.ITIMER_REAL, 0.01)
while not hits: time.sleep(0.005)
print(selectors.DefaultSelector().select(0) == [])`,
};

const LIBRARIES = {
  numpy:
    "import numpy as np; a = np.random.rand(64, 64); print(bool((a @ np.linalg.inv(a)).any()))",
  pandas: `
import pandas as pd
print(pd.DataFrame({"k": [1, 1, 2], "v": [1, 2, 3]}).groupby("k").v.sum().tolist() == [3, 3])`,
  polars: `
import polars as pl
frame = pl.DataFrame({"k": [1, 1, 2], "v": [1, 2, 3]})
frame.write_parquet("/tmp/frame.parquet")
print(pl.scan_parquet("/tmp/frame.parquet").select(pl.col("v").sum()).collect().item() == 6)`,
  scipy:
    "import scipy.optimize as o; print(abs(o.brentq(lambda x: x * x - 2, 0, 2) - 2**0.5) < 1e-6)",
  sklearn: `
from sklearn.ensemble import RandomForestClassifier
model = RandomForestClassifier(4, n_jobs=2, random_state=0).fit([[0], [1]] * 9, [0, 1] * 9)
print(model.predict([[1]]).tolist() == [1])`,
  matplotlib: `
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.savefig("/tmp/plot.png"); print(True)`,
};

describe("cells under the filter", () => {
  let jail: Jail | { missing: string };

  beforeAll(async () => {
    jail = await findJail();
  });

  async function run(
    context: { skip: (reason: string) => never },
    cells: Readonly<Record<string, string>>,
    program = seccompProgram(ARCHITECTURE),
  ): Promise<Record<string, Outcome>> {
    return "missing" in jail ? context.skip(jail.missing) : runJailed(jail, program, cells);
  }

  it("are refused what could reach the kernel", async (context) => {
    if (process.arch !== "x64") {
      context.skip("the raw numbers are those of x86-64");
    }
    const cells = Object.entries(REFUSED_CALLS).map(([name, [call]]) => [name, rawCall(call)]);
    const outcomes = await run(context, Object.fromEntries(cells));
    for (const [name, [, errno]] of Object.entries(REFUSED_CALLS)) {
      expect([name, outcomes[name]?.output]).toEqual([name, `${errno}\n`]);
    }
  });

  it("are killed when they call like another architecture", async (context) => {
    if (process.arch !== "x64") {
      context.skip("the foreign calls are those of x86-64");
    }
    const outcomes = await run(context, FOREIGN_CALLS);
    expect(outcomes["x32 call"]).toEqual({ exit: 0, signal: SIGSYS, output: "" });
    expect([SIGSYS, SIGSEGV]).toContain(outcomes["32-bit gate"]?.signal);
    expect(outcomes["32-bit gate"]?.output).toBe("");
  });

  it("get no socket but local and internet ones", async (context) => {
    const outcomes = await run(context, SOCKETS);
    for (const name of Object.keys(SOCKETS)) {
      expect([name, outcomes[name]?.output]).toEqual([name, expect.stringContaining("Errno 97")]);
    }
  });

  it("would get through without it", async (context) => {
    const outcomes = await run(context, { netlink: SOCKETS.netlink }, NO_FILTER);
    expect(outcomes.netlink?.output).toBe("PWNED\n");
  });

  it("do everyday work", async (context) => {
    const outcomes = await run(context, EVERYDAY);
    for (const name of Object.keys(EVERYDAY)) {
      expect([name, outcomes[name]]).toEqual([name, { exit: 0, signal: 0, output: "True\n" }]);
    }
  });

  it("use the data-science libraries that are installed", async (context) => {
    const guarded = Object.entries(LIBRARIES).map(([name, code]) => [
      name,
      `import importlib.util as i; exec(${JSON.stringify(code)} if i.find_spec("${name}") else "print('absent')")`,
    ]);
    const outcomes = await run(context, Object.fromEntries(guarded));
    const present = Object.keys(LIBRARIES).filter((name) => outcomes[name]?.output !== "absent\n");
    if (present.length === 0) {
      context.skip("none of the libraries is installed for this interpreter");
    }
    for (const name of present) {
      expect([name, outcomes[name]]).toEqual([name, { exit: 0, signal: 0, output: "True\n" }]);
    }
  });
});
