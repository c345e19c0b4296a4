import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { parentOf, templatePids } from "../../../test/support/processes.js";
import { PROTOCOL_VERSION } from "../../protocol/messages.js";
import { Peer } from "../../protocol/peer.js";
import type { CodeExecution, ISandbox, REPLConfig } from "../backend.js";
import { NativeRuntime } from "./runtime.js";
import { Listener } from "./zygote/listener.js";

const MEBIBYTE = 1024 * 1024;
const BARE: REPLConfig = { preload: "none", poolSize: 0 };

const { runtime, unavailable } = await openNativeRuntime();
const folder = mkdtempSync(join(tmpdir(), "cellar-context-test-"));
const text = (run: CodeExecution): string | undefined => run.result?.["text/plain"];

function check(name: string, body: () => Promise<void>): void {
  it(name, async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await body();
  });
}

/** A file of ASCII that no other test has. */
function place(name: string, mebibytes: number): { file: string } {
  const file = join(folder, name);
  const line = `${name} ${"x".repeat(62 - name.length)}\n`;
  writeFileSync(file, line.repeat((mebibytes * MEBIBYTE) / line.length));
  return { file };
}

async function open(context: unknown, config: REPLConfig = {}): Promise<ISandbox> {
  const sandbox = await runtime.createSandbox({ ...BARE, ...config });
  await sandbox.initialize(context);
  return sandbox;
}

async function holds(sandbox: ISandbox, condition: string): Promise<void> {
  const run = await sandbox.execute(condition);
  expect([run.error, text(run)]).toEqual([null, "True"]);
}

/** Kilobytes of one kind that the head of a sandbox maps. */
async function mapped(sandbox: ISandbox, kind: string): Promise<number> {
  const code = `[int(line.split()[1]) for line in open('/proc/self/smaps_rollup') if line.startswith('${kind}:')][0]`;
  return Number(text(await sandbox.execute(code)));
}

/** Looks for templates that were not there when it was made. */
function templateWatch(): () => number[] {
  const old = new Set(templatePids());
  return () => templatePids().filter((pid) => !old.has(pid));
}

/** Runs cells until one tells that state was lost. */
function lossOf(sandbox: ISandbox): Promise<CodeExecution> {
  return vi.waitFor(async () => {
    const run = await sandbox.execute("0");
    expect(run.state.survived).toBe(false);
    return run;
  }, 60_000);
}

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

describe("a large context given before the first cell", () => {
  const many = 400_000;
  const kinds: readonly (readonly [string, () => unknown, string])[] = [
    ["ASCII", () => "ab\r\n\0\t".repeat(many), `'ab\\r\\n\\0\\t' * ${many}`],
    [
      "wide characters",
      () => "\u65e5\u{1f600}\r".repeat(many),
      `'\\u65e5\\U0001f600\\r' * ${many}`,
    ],
    ["halves of pairs", () => "a\ud800b\udc00".repeat(many), `'a\\ud800b\\udc00' * ${many}`],
    [
      "documents",
      () => [{ name: "a", body: "\u00e9\0".repeat(many) }, "\u{1f600}", 2n ** 65n],
      `[{'name': 'a', 'body': '\\xe9\\0' * ${many}}, '\\U0001f600', 2**65]`,
    ],
    ["a file", () => place("plain", 4), `('plain ' + 'x' * 57 + '\\n') * ${(4 * MEBIBYTE) / 64}`],
  ];
  for (const [name, make, python] of kinds) {
    check(`${name}: is there from the start`, async () => {
      await using sandbox = await open(make());
      expect(await sandbox.checkpoints()).toEqual([{ id: 0, cell: 0 }]);
      await holds(sandbox, `context == ${python}`);
      await sandbox.execute("context = None");
      await sandbox.undo(2);
      await holds(sandbox, `context == ${python}`);
    });
  }

  check("comes with forks, checkpoints and a head that died", async () => {
    await using sandbox = await open(place("family", 8));
    await using early = await sandbox.fork();
    await holds(early, `len(context) == ${8 * MEBIBYTE}`);
    await sandbox.execute("x = len(context)");
    await using twin = await sandbox.fork();
    await twin.execute("context = context[:10]");
    await holds(twin, `(len(context), x) == (10, ${8 * MEBIBYTE})`);
    const died = await sandbox.execute("import os; os._exit(3)");
    expect(died).toMatchObject({ status: "crashed", state: { survived: true } });
    await holds(sandbox, "len(context) == x and context.startswith('family')");
  });

  check("leaves no way to its file, and none to change the memory that holds it", async () => {
    await using sandbox = await open(place("closed", 64));
    const run = await sandbox.execute(
      [
        "import ctypes, mmap, os",
        "folder = '/proc/self/fd/'",
        "links = {each: os.readlink(folder + each) for each in os.listdir(folder) if os.path.lexists(folder + each)}",
        "def attempt(work, *given):",
        "    try: work(*given)",
        "    except OSError as error: return error.strerror",
        "    return 'done'",
        "[memory] = [int(each) for each, link in links.items() if 'context' in link]",
        "attempts = [attempt(os.pwrite, memory, b'x', 0), attempt(os.ftruncate, memory, 0), attempt(mmap.mmap, memory, 4096)]",
        "[each for each in links.values() if 'closed' in each], attempts",
      ].join("\n"),
    );
    const denied = "['Bad file descriptor', 'Invalid argument', 'Permission denied']";
    expect([run.error, text(run)]).toEqual([null, `([], ${denied})`]);
    await holds(sandbox, "context.startswith('closed') and len(links) > 3");
  });

  check("is what rlm_query is about when it names none", async () => {
    const about: unknown[] = [];
    const given = place("asked", 2);
    await using sandbox = await open(given, {
      onRLMQuery: (_task, context) => {
        about.push(context);
        return "answer";
      },
    });
    await sandbox.execute("rlm_query('what is it?')");
    expect(about).toEqual([given]);
  });

  check("is replaced by another one, and may be given again at any time", async () => {
    await using sandbox = await open("a small one");
    await sandbox.initialize(place("first", 2));
    await sandbox.initialize(place("second", 2));
    expect(await sandbox.checkpoints()).toEqual([{ id: 0, cell: 0 }]);
    await holds(sandbox, "context.startswith('second')");
    await sandbox.initialize(place("third", 2));
    await holds(sandbox, "context.startswith('third')");
    await sandbox.undo(2);
    await holds(sandbox, "context.startswith('third')");
  });
});

describe("sandboxes with the same context", () => {
  check("share one copy of it, in pages that forks do not copy", async () => {
    const given = place("shared", 64);
    const templates = templateWatch();
    const made = await Promise.all([open(given), open({ ...given }), open(given)]);
    made.push(await open(given));
    // A child of it gathers pages for a moment.
    await expect.poll(templates, { timeout: 10_000 }).toHaveLength(1);
    const places = new Set<string | undefined>();
    for (const sandbox of made) {
      await holds(sandbox, "len(context.split('\\n')) > 0");
      // Rights, offset, device and inode of what lies under the text.
      const line = "[line for line in open('/proc/self/maps') if '/context (deleted)' in line]";
      places.add(text(await sandbox.execute(`[each.split()[1:5] for each in ${line}]`)));
    }
    expect([...places]).toEqual([
      expect.stringMatching(/^\[\['r--p', '0*1000', '[^']+', '\d+'\]\]$/),
    ]);
    for (const sandbox of made) await sandbox.destroy();
  });

  check("cannot change it for each other, only end themselves", async () => {
    const given = place("guarded", 64);
    await using villain = await open(given);
    await using neighbour = await open(given);
    const [start, whole] = [8 * MEBIBYTE, 64 * MEBIBYTE];
    const prelude = `import ctypes\nat = id(context) + ${start} & -4096`;
    const crash = await villain.execute(`${prelude}\nctypes.memset(at, 65, 4096)`);
    expect(crash).toMatchObject({ status: "crashed", state: { survived: true } });
    const own = await villain.execute(
      `${prelude}\nctypes.CDLL(None).mprotect(ctypes.c_void_p(at), 4096, 3)\n` +
        "ctypes.memset(at, 65, 4096)\ncontext.count('A' * 4000)",
    );
    expect(text(own)).toBe("1");
    await holds(neighbour, `context.count('AA') == 0 and len(context) == ${whole}`);
    await using later = await open(given);
    await holds(later, "context.count('AA') == 0");
    await villain.execute(
      "context += 'x'\ndel context\nkept = [bytes(9) * 1000 for _ in range(999)]",
    );
    await holds(villain, "'context' not in globals() and len(kept) == 999");
  });

  check("share the parts of a value too, whatever the collector does", async () => {
    const documents = Array.from({ length: 200_000 }, (_, id) => ({ id, tags: ["a", `${id}`] }));
    await using sandbox = await open(documents);
    await holds(sandbox, "import gc; gc.collect() >= 0");
    expect(await mapped(sandbox, "Anonymous")).toBeGreaterThan(80 * 1024);
    expect(await mapped(sandbox, "Private_Dirty")).toBeLessThan(16 * 1024);
  });

  check("share a text and equal values, but not what differs", async () => {
    const long = "text".repeat(MEBIBYTE);
    const value = { long, at: new Date(0) };
    const templates = templateWatch();
    const alike = await Promise.all([open(long), open(long), open(value), open({ ...value })]);
    expect(templates()).toHaveLength(2);
    const other = await open({ ...value, at: new Date(1) });
    expect(templates()).toHaveLength(3);
    for (const sandbox of [...alike, other]) await sandbox.destroy();
  });

  check("a file that was written to is another context", async () => {
    const given = place("changing", 2);
    await using before = await open(given);
    appendFileSync(given.file, "more");
    await using after = await open(given);
    await holds(before, `len(context) == ${2 * MEBIBYTE}`);
    await holds(after, "context.endswith('more')");
  });

  check("leave no more than a few contexts behind", async () => {
    const templates = templateWatch();
    const seen = new Set<number>();
    for (const name of ["one", "two", "three", "four"]) {
      const sandbox = await open(place(name, 2));
      for (const pid of templates()) seen.add(pid);
      await sandbox.destroy();
    }
    expect(seen.size).toBe(4);
    await vi.waitFor(() => expect(templates().length).toBeLessThanOrEqual(2));
  });
});

describe("the memory of a context", () => {
  const limits = { memoryMb: 128 };

  check("is not counted in the limit of the cells, which stays in force", async () => {
    await using sandbox = await open(place("heavy", 200), { limits });
    const half = await sandbox.execute("kept = b'x' * (64 << 20)\nlen(context)");
    expect(half).toMatchObject({ status: "ok", state: { survived: true } });
    expect(half.state.checkpoint).not.toBeNull();
    const greedy = await sandbox.execute("more = b'x' * (256 << 20)");
    expect(greedy).toMatchObject({ status: "oom", error: { type: "MemoryError" } });
    const copy = await sandbox.execute("copy = context + '.'");
    expect(copy.status).toBe("oom");
    await holds(sandbox, `len(context) == ${200 * MEBIBYTE}`);
  });

  check("does not let processes of a cell take more than their limit together", async () => {
    await using sandbox = await open(place("many", 200), { limits });
    const run = await sandbox.execute(
      [
        "import os, time",
        "for _ in range(8):",
        "    if os.fork() == 0:",
        "        own = bytearray(b'x') * (100 << 20)",
        "        time.sleep(20)",
        "        os._exit(0)",
        "while True:",
        "    pid, status = os.wait()",
        "    if status == 9: break",
        "status",
      ].join("\n"),
    );
    // Whom the kernel ends is its choice: one of the copies, or the head.
    expect(run.status === "oom" || text(run) === "9").toBe(true);
    await holds(sandbox, `len(context) == ${200 * MEBIBYTE}`);
  });

  check("is not the host's: neither a file nor a text is held a second time", async () => {
    const given = place("host", 64);
    const long = Buffer.alloc(64 * MEBIBYTE, "text").toString("latin1");
    await using first = await runtime.createSandbox(BARE);
    await using second = await runtime.createSandbox(BARE);
    await holds(first, "True");
    for (const [sandbox, context] of [
      [first, given],
      [second, long],
    ] as const) {
      const before = process.memoryUsage().rss;
      await sandbox.initialize(context);
      expect(process.memoryUsage().rss - before).toBeLessThan(24 * MEBIBYTE);
      await holds(sandbox, `len(context) == ${64 * MEBIBYTE}`);
    }
  });

  check("is bounded", async () => {
    const file = join(folder, "endless");
    writeFileSync(file, "");
    truncateSync(file, 5 * 1024 ** 3);
    await using sandbox = await runtime.createSandbox(BARE);
    await expect(sandbox.initialize({ file })).rejects.toMatchObject({ code: "TOO_LARGE" });
    await holds(sandbox, "context is None if 'context' in globals() else True");
  });
});

describe("when something ends", () => {
  check("a template: its sessions go, and the next cell has the context again", async () => {
    const templates = templateWatch();
    await using sandbox = await open(place("felled", 2));
    await sandbox.execute("x = 1");
    const [pid = 0, ...others] = templates();
    expect(others).toEqual([]);
    process.kill(pid, "SIGKILL");
    expect((await lossOf(sandbox)).state.reason).toContain("process with the context");
    await holds(sandbox, `len(context) == ${2 * MEBIBYTE} and 'x' not in globals()`);
    expect(templates()).toHaveLength(1);
  });

  check("a zygote: its templates go, and the next cell has the context again", async () => {
    await using own = new NativeRuntime();
    const templates = templateWatch();
    const sandbox = await own.createSandbox(BARE);
    await sandbox.initialize(place("uprooted", 2));
    const [template = 0] = templates();
    process.kill(parentOf(template), "SIGKILL");
    await lossOf(sandbox);
    expect(templates()).not.toContain(template);
    await holds(sandbox, `len(context) == ${2 * MEBIBYTE}`);
  });

  check("a file that changed and must be read again is told, and the rest goes on", async () => {
    const given = place("fleeting", 2);
    const templates = templateWatch();
    await using sandbox = await open(given);
    appendFileSync(given.file, "more");
    for (const pid of templates()) process.kill(pid, "SIGKILL");
    const told: (string | undefined)[] = [];
    await vi.waitFor(async () => {
      told.push((await sandbox.execute("0")).state.reason);
      expect(told.join()).toMatch(/the context could not be loaded again.*changed/);
    });
    await holds(sandbox, "'context' not in globals()");
    await sandbox.initialize(given);
    await holds(sandbox, "context.endswith('more')");
  });

  check("a runtime: nothing of it is left", async () => {
    const own = new NativeRuntime();
    const templates = templateWatch();
    const sandbox = await own.createSandbox(BARE);
    await sandbox.initialize(place("first of two", 2));
    const pending = sandbox.initialize(place("abandoned", 48));
    const settled = pending.catch((error: unknown) => error);
    await own[Symbol.asyncDispose]();
    expect([undefined, "SESSION_CLOSED", "SESSION_LOST"]).toContain(
      ((await settled) as { code?: string } | undefined)?.code,
    );
    await sandbox.destroy();
    expect(templates()).toEqual([]);
  });

  check("a sandbox: destroy() in the middle of initialize() ends both", async () => {
    const sandbox = await runtime.createSandbox(BARE);
    const pending = sandbox.initialize(place("hurried", 16));
    const settled = pending.catch((error: unknown) => error);
    await sandbox.destroy();
    await settled;
    await expect(sandbox.execute("1")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
  });
});

describe("a template's link", () => {
  const hello = {
    protocol: PROTOCOL_VERSION,
    session: "name",
    branch: 0,
    generation: 0,
    python: "3.11.2",
    abilities: [],
  };

  it("is taken from nobody without the token", async () => {
    await using listener = await Listener.open(folder, undefined);
    const arrived: string[] = [];
    listener.expect("name", "token", ({ role }) => arrived.push(role));
    for (const token of ["", "Token", "token0"]) {
      const peer = new Peer(connect(join(folder, "host.sock")));
      peer.notify("hello", { ...hello, role: "template", token });
      await peer.closed;
    }
    expect(arrived).toEqual([]);
    const peer = new Peer(connect(join(folder, "host.sock")));
    peer.notify("hello", { ...hello, role: "template", token: "token" });
    await vi.waitFor(() => expect(arrived).toEqual(["template"]));
    peer.close();
  });
});
