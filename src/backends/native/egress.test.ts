import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EgressHosts } from "../../../test/support/egress-hosts.js";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import type { EgressOptions, EgressProxy } from "../../egress/proxy.js";
import type { ISandbox } from "../backend.js";
import { makeSessionDir, type SessionDir, sessionDirPath } from "../host/session-dir.js";
import type { NativeRuntime } from "./runtime.js";

const SMALL = { preload: "none", poolSize: 0, timeout: 20_000 } as const;
const folder = mkdtempSync(join(tmpdir(), "cellar-rooms-"));
const root = join(folder, "rooms");
let runtime: NativeRuntime;
let unavailable: string | undefined;

beforeAll(async () => {
  ({ runtime, unavailable } = await openNativeRuntime());
});
beforeEach((context) => {
  if (unavailable !== undefined) context.skip(unavailable);
});
afterAll(async () => {
  await runtime?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

let rooms = 0;

/** A session in a room of its own, with servers and a proxy around it. */
class Visit implements AsyncDisposable {
  readonly place = new EgressHosts();
  readonly sessionDir: SessionDir = { root, name: `room-${rooms++}`, hasEgress: true };
  #sandbox: ISandbox | undefined;
  #proxy: EgressProxy | undefined;

  get proxy(): EgressProxy {
    if (this.#proxy === undefined) throw new Error("there is no proxy");
    return this.#proxy;
  }

  async open(allow: readonly string[], options: Partial<EgressOptions> = {}): Promise<void> {
    makeSessionDir(this.sessionDir);
    this.#proxy = await this.place.proxy(allow, {
      ...options,
      folder: sessionDirPath(this.sessionDir),
    });
    const env = { ...this.#proxy.environment };
    this.#sandbox = await runtime.createSandbox(
      { ...SMALL, env, checkpoints: "always" },
      undefined,
      this.sessionDir,
    );
  }

  async run(code: string) {
    if (this.#sandbox === undefined) throw new Error("there is no sandbox");
    return await this.#sandbox.execute(code);
  }

  /** What the last expression is, as text; fails with the traceback. */
  async value(code: string): Promise<string | undefined> {
    const run = await this.run(code);
    expect(run.error?.traceback).toBeUndefined();
    return run.result?.["text/plain"];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sandbox?.destroy();
    await this.place[Symbol.asyncDispose]();
  }
}

const FETCH = `
import urllib.request, urllib.error
def fetch(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()
`;

describe("a session with an allow-list", () => {
  it("reaches the allowed host through the proxy, and no other", async () => {
    await using visit = new Visit();
    const port = await visit.place.server((request, response) => response.end(request.url));
    const other = await visit.place.server((_, response) => response.end("never"));
    await visit.open([`127.0.0.1:${port}`]);
    expect(await visit.value(`${FETCH}\nfetch("http://127.0.0.1:${port}/a?b")`)).toBe("'/a?b'");
    const refused = await visit.run(`fetch("http://127.0.0.1:${other}/")`);
    expect(refused.error?.type).toBe("HTTPError");
    expect(refused.error?.message).toContain("403");
    expect(refused.error?.hint).toContain(`127.0.0.1:${port}`);
    const tunnel = await visit.run('fetch("https://evil.example/")');
    expect(tunnel.error?.message).toContain("403 Forbidden by the sandbox");
    expect(tunnel.error?.hint).toContain("HTTPS_PROXY");
    const direct = await visit.run('import socket; socket.create_connection(("1.1.1.1", 53), 5)');
    expect(direct.error?.hint).toContain(`127.0.0.1:${port}`);
    expect(visit.proxy.report.totals).toMatchObject({ allowed: 1, refused: 2 });
  });

  it("keeps the isolation level, counts no process of its own and leaves checkpoints whole", async () => {
    await using visit = new Visit();
    const port = await visit.place.server((_, response) => response.end("out"));
    await visit.open([`127.0.0.1:${port}`]);
    const run = await visit.run(`${FETCH}\ntext = fetch("http://127.0.0.1:${port}/")`);
    expect(run.background).toBe(0);
    expect(run.isolation.missing).not.toContain("network");
    expect(await visit.value("import os; os.kill(os.getpid(), 9)").catch(() => "killed")).toBe(
      "killed",
    );
    expect(await visit.value(`(text, fetch("http://127.0.0.1:${port}/"))`)).toBe("('out', 'out')");
  });

  it("checks where a redirect leads", async () => {
    await using visit = new Visit();
    const hidden = await visit.place.server((_, response) => response.end("secret"));
    const port = await visit.place.server((_, response) => {
      response.writeHead(302, { Location: `http://127.0.0.1:${hidden}/` }).end();
    });
    await visit.open([`127.0.0.1:${port}`]);
    const run = await visit.run(`${FETCH}\nfetch("http://127.0.0.1:${port}/")`);
    expect(run.error?.message).toContain("403");
    expect(visit.proxy.report.requests.map(({ isAllowed }) => isAllowed)).toEqual([true, false]);
  });

  it("speaks TLS with the host through a tunnel", async (context) => {
    await using visit = new Visit();
    const key = join(visit.place.folder, "key.pem");
    const certificate = join(visit.place.folder, "certificate.pem");
    const request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"];
    const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    try {
      const files = ["-keyout", key, "-out", certificate];
      await promisify(execFile)("openssl", [...request, ...names, ...files]);
    } catch {
      context.skip("openssl is not installed");
    }
    const pem = readFileSync(certificate, "utf8");
    const server = createTlsServer({ key: readFileSync(key), cert: pem }, (_, response) =>
      response.end("x".repeat(200_000)),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await visit.open([`localhost:${port}`]);
    const code = `
import ssl, urllib.request
trust = ssl.create_default_context(cadata=${JSON.stringify(pem)})
len(urllib.request.urlopen("https://localhost:${port}/", timeout=10, context=trust).read())`;
    expect(await visit.value(code)).toBe("200000");
    expect(visit.proxy.report.totals.receivedBytes).toBeGreaterThan(200_000);
    server.closeAllConnections();
    server.close();
  });

  it("loses an open connection when it is cut, and every later one", async () => {
    await using visit = new Visit();
    const port = await visit.place.server((_, response) => response.write("first"));
    await visit.open([`127.0.0.1:${port}`]);
    const open = `
import urllib.request
stream = urllib.request.urlopen("http://127.0.0.1:${port}/", timeout=20)
stream.read(5)`;
    expect(await visit.value(open)).toBe("b'first'");
    const rest = visit.run(`
try:
    outcome = stream.read()
except Exception as error:
    outcome = type(error).__name__
outcome`);
    visit.proxy.cut("patients.csv was loaded");
    expect((await rest).result?.["text/plain"]).toMatch(/^(b''|'\w+')$/);
    for (const scheme of ["http", "https"]) {
      const run = await visit.run(`${FETCH}\nfetch("${scheme}://127.0.0.1:${port}/")`);
      expect(run.error?.message).toContain("Network cut by the sandbox");
      expect(run.error?.hint).toContain("private data");
    }
    expect(visit.proxy.report.cut).toBe("patients.csv was loaded");
  });

  it.each(["SIGKILL", "SIGSTOP"])(
    "gets its relay back after %s, and never its port",
    async (signal) => {
      await using visit = new Visit();
      const port = await visit.place.server((_, response) => response.end("again"));
      await visit.open([`127.0.0.1:${port}`]);
      const kill = `
import os, signal, socket
me, tried = os.getpid(), []
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) not in (1, me):
        tried.append(int(name))
        os.kill(int(name), signal.${signal})
try:
    socket.socket().bind(("127.0.0.1", 3128))
    bound = True
except OSError:
    bound = False
(len(tried) >= 1, bound)`;
      expect(await visit.value(kill)).toBe("(True, False)");
      expect(await visit.value(`${FETCH}\nfetch("http://127.0.0.1:${port}/")`)).toBe("'again'");
    },
  );

  it("cannot look into the relay, nor reach the room or the proxy's socket", async () => {
    await using visit = new Visit();
    const port = await visit.place.server((_, response) => response.end("again"));
    await visit.open([`127.0.0.1:${port}`]);
    const look = `
import os
def attempt(work):
    try:
        work()
        return True
    except OSError:
        return False
others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]
found = []
for name in others:
    for number in range(8):
        found.append(attempt(lambda: os.readlink("/proc/%s/fd/%d" % (name, number))))
        found.append(attempt(lambda: os.open("/proc/%s/fd/%d" % (name, number), os.O_PATH)))
    found.append(attempt(lambda: os.listdir("/proc/%s/root/run" % name)))
    found.append(attempt(lambda: open("/proc/%s/mem" % name, "rb")))
    found.append(attempt(lambda: open("/proc/%s/environ" % name, "rb").read()))
(len(others), any(found), os.path.exists("/run/sessions/${visit.sessionDir.name}"), os.listdir("/workspace"))`;
    expect(await visit.value(look)).toBe("(1, False, False, [])");
  });

  it("carries many connections at once and large bodies both ways", async () => {
    await using visit = new Visit();
    const port = await visit.place.server((request, response) => request.pipe(response));
    await visit.open([`127.0.0.1:${port}`]);
    const code = `
import concurrent.futures, urllib.request
body = bytes(range(256)) * 4096
def echo(_):
    return urllib.request.urlopen("http://127.0.0.1:${port}/", data=body, timeout=20).read() == body
with concurrent.futures.ThreadPoolExecutor(16) as pool:
    results = list(pool.map(echo, range(48)))
(len(results), all(results))`;
    expect(await visit.value(code)).toBe("(48, True)");
  });
});

describe("a session without an allow-list", () => {
  it("has no proxy and no way out", async () => {
    await using place = new EgressHosts();
    const port = await place.server((_, response) => response.end("never"));
    await using sandbox = await runtime.createSandbox({ ...SMALL });
    const run = await sandbox.execute(`
import os, socket
def attempt(address):
    try:
        socket.create_connection(address, 5).close()
        return True
    except OSError:
        return False
found = [attempt(("127.0.0.1", number)) for number in (${port}, 3128)] + [attempt(("1.1.1.1", 80))]
(found, [name for name in os.environ if name.lower().endswith("_proxy")])`);
    expect(run.result?.["text/plain"]).toBe("([False, False, False], [])");
  });
});
