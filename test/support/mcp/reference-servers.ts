import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";

/** The entry of a server that the tests install, unmodified. */
export function referenceServer(name: "everything" | "filesystem" | "memory"): string {
  const path = `../../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`;
  return fileURLToPath(new URL(path, import.meta.url));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("there is no port");
  return address.port;
}

/** The everything server over Streamable HTTP, on loopback. */
export class EverythingOverHttp implements AsyncDisposable {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(port: number, child: ChildProcess) {
    this.port = port;
    this.#child = child;
  }

  static async start(chosen?: number): Promise<EverythingOverHttp> {
    const port = chosen ?? (await freePort());
    const child = spawn(process.execPath, [referenceServer("everything"), "streamableHttp"], {
      env: { PATH: process.env.PATH, PORT: String(port) },
      stdio: "ignore",
    });
    const started = new EverythingOverHttp(port, child);
    for (;;) {
      if (child.exitCode !== null) throw new Error("the server ended");
      const answer = await fetch(started.url).catch(() => undefined);
      await answer?.body?.cancel();
      if (answer !== undefined) return started;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }
}
