import { describe, expect, it } from "vitest";
import type { CodeExecution, ISandbox } from "../../src/index.js";
import { AttackFixture } from "./attack-fixture.js";

/** One session takes what it can of something, then another one needs a little of it. */
interface Contest {
  readonly name: string;
  readonly take: string;
  readonly need: string;
  /** What the other one prints when it got its part. */
  readonly got: string;
}

const LIBC = "import ctypes\nl = ctypes.CDLL(None, use_errno=True)\n";

const CONTESTS: readonly Contest[] = [
  {
    name: "terminals",
    take: "import os, pty\nmine, other = pty.openpty()\nos.write(mine, b'secret\\n')\ntry:\n    while True: os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY)\nexcept OSError as error: print(error.errno)",
    need: "import os, pty\nprint([n for n in os.listdir('/dev/pts') if n != 'ptmx'])\npty.openpty()\nprint('got')",
    got: "[]\ngot\n",
  },
  {
    name: "timers and queued signals",
    take: `${LIBC}t = ctypes.c_void_p(); n = 0\nwhile n < 10**6 and l.timer_create(1, None, ctypes.byref(t)) == 0: n += 1\nprint(n)`,
    need: `${LIBC}t = ctypes.c_void_p()\nprint('got' if l.timer_create(1, None, ctypes.byref(t)) == 0 else ctypes.get_errno())`,
    got: "got\n",
  },
  {
    name: "pipe buffers",
    take: "import fcntl, os\nheld = []\ntry:\n    while len(held) < 100:\n        held.append(os.pipe()); fcntl.fcntl(held[-1][1], 1031, 1 << 20)\nexcept OSError as error: print(error.errno)",
    need: "import os\nr, w = os.pipe(); os.write(w, b'x'); print('got' if os.read(r, 1) else '')",
    got: "got\n",
  },
  {
    name: "processes",
    take: "import os, time\ntry:\n    while True:\n        if os.fork() == 0: time.sleep(60)\nexcept OSError as error: print(error.errno)",
    need: "import os\npid = os.fork()\nif pid == 0: os._exit(0)\nprint('got', os.waitpid(pid, 0)[1])",
    got: "got 0\n",
  },
  {
    name: "processors",
    take: "import os\nfor _ in range(60):\n    if os.fork() == 0:\n        os.setsid()\n        while True: pass\nprint('spinning')",
    need: "n = 0\nfor i in range(10**6): n += 1\nprint('got')",
    got: "got\n",
  },
  {
    name: "message queues",
    take: `${LIBC}n = 0\nwhile n < 1000 and l.msgget(0, 0o1600) >= 0: n += 1\nprint(n)`,
    need: `${LIBC}print('got' if l.msgget(0, 0o1600) >= 0 else ctypes.get_errno())`,
    got: "got\n",
  },
  {
    name: "abstract sockets",
    take: "import socket\ns = socket.socket(socket.AF_UNIX); s.bind('\\0meeting'); s.listen()\nprint('bound')",
    need: "import socket\ns = socket.socket(socket.AF_UNIX)\ntry: s.connect('\\0meeting'); print('met')\nexcept OSError: print('got')",
    got: "got\n",
  },
  {
    name: "ports",
    take: "import socket\ns = socket.socket(); s.bind(('127.0.0.1', 8080)); s.listen()\nprint('bound')",
    need: "import socket\ns = socket.socket(); s.bind(('127.0.0.1', 8080)); print('got')",
    got: "got\n",
  },
  {
    name: "file locks and names",
    take: "open('/tmp/name', 'w').write('x'); open('/dev/shm/name', 'w').write('x'); open('/workspace/name', 'w').write('x')",
    need: "import os\nprint([os.listdir(d) for d in ('/tmp', '/dev/shm', '/workspace')])",
    got: "[[], [], []]\n",
  },
];

const IN_FLIGHT = `
import array, os, resource, socket
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
null = os.open('/dev/null', 0)
pairs, sent = [], 0
try:
    while sent < 10_000:
        pairs.append(socket.socketpair())
        for _ in range(4):
            rights = array.array('i', [null] * 250)
            pairs[-1][0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            sent += 250
except OSError as error:
    print(error.errno)
`;

const fixture = new AttackFixture();

describe("what one session takes, another still has", () => {
  fixture.keepHost();

  it.each(CONTESTS)("$name", async ({ take, need, got }) => {
    await using greedy = await fixture.runner.sandbox();
    await using modest = await fixture.runner.sandbox();
    expect((await greedy.execute(take)).status).toBe("ok");
    const run = await modest.execute(need);
    expect(run.status, run.error?.message).toBe("ok");
    expect(run.stdout).toBe(got);
  });

  it("checkpoints, when descriptors in flight are used up", async () => {
    await using greedy = await fixture.runner.sandbox();
    await using modest = await fixture.runner.sandbox();
    const flood = await greedy.execute(IN_FLIGHT);
    expect(flood.stdout).toBe("109\n");
    await modest.execute("first = 1");
    await modest.execute("second = 2");
    const crash = await modest.execute("import os; os._exit(1)");
    expect(crash.state.survived).toBe(true);
    expect((await modest.execute("(first, second)")).result).toEqual({ "text/plain": "(1, 2)" });
  });
});

describe("a pool that hostile sessions came from", () => {
  it("gives clean sessions afterwards", async () => {
    const spoil = [
      "import builtins, sys, os\nbuiltins.leak = 1; sys.leak = 1; os.environ['LEAK'] = '1'",
      "import json, random\njson.leak = 1; random.seed(1)\nopen('/tmp/leak', 'w').close()",
      "import sys\nsys.path.insert(0, '/tmp/leak'); sys.setrecursionlimit(50)",
    ].join("\n");
    const draws = new Set<string>();
    for (let round = 0; round < 6; round += 1) {
      await using sandbox: ISandbox = await fixture.runner.sandbox();
      const seen = await sandbox.execute(
        "import builtins, json, os, random, sys\nprint(hasattr(builtins, 'leak'), hasattr(sys, 'leak'), hasattr(json, 'leak'), 'LEAK' in os.environ, os.listdir('/tmp'), sys.getrecursionlimit() > 500)\nrandom.random()",
      );
      expect(seen.stdout).toBe("False False False False [] True\n");
      draws.add(textOf(seen));
      await sandbox.execute(spoil);
    }
    expect(draws.size).toBe(6);
    await fixture.runner.expectHealth();
  });
});

function textOf(run: CodeExecution): string {
  return run.result?.["text/plain"] ?? "";
}
