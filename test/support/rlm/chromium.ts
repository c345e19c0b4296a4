import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const LONGEST_ANSWER_MS = 40_000;

export function chromiumPath(): string | undefined {
  return PLACES.find((place) => existsSync(place));
}

interface Told {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, never>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

/** A real browser with one page, driven through a pipe: nothing listens on a port. */
export class Browser implements AsyncDisposable {
  /** Addresses that the page asked for. */
  readonly requests: string[] = [];
  /** What the page or the browser complained about. */
  readonly complaints: string[] = [];
  readonly #process: ChildProcess;
  readonly #profile: string;
  readonly #waiting = new Map<number, (told: Told) => void>();
  #heard = "";
  #asked = 0;
  #session: string | undefined;

  private constructor(path: string) {
    this.#profile = mkdtempSync(join(tmpdir(), "cellar-browser-"));
    const flags = [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--remote-debugging-pipe",
      `--user-data-dir=${this.#profile}`,
    ];
    this.#process = spawn(path, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    const answers = this.#process.stdio[4] as Readable;
    answers.setEncoding("utf8").on("data", (text: string) => this.#hear(text));
  }

  static async open(path: string, page: string): Promise<Browser> {
    const browser = new Browser(path);
    const { targetId } = await browser.#ask("Target.createTarget", { url: "about:blank" });
    const attached = await browser.#ask("Target.attachToTarget", { targetId, flatten: true });
    browser.#session = String(attached.sessionId);
    for (const domain of ["Page", "Runtime", "Network", "Log"]) {
      await browser.#ask(`${domain}.enable`);
    }
    await browser.#ask("Page.navigate", { url: page });
    await browser.until("document.readyState === 'complete' && location.href !== 'about:blank'");
    return browser;
  }

  /** The value of an expression in the page. */
  async evaluate(expression: string): Promise<unknown> {
    const options = { expression, returnByValue: true, awaitPromise: true };
    const { result, exceptionDetails } = await this.#ask("Runtime.evaluate", options);
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return (result as { value?: unknown }).value;
  }

  async until(expression: string): Promise<void> {
    for (let attempt = 0; attempt < 400; attempt += 1) {
      if ((await this.evaluate(expression)) === true) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`it never came to be that ${expression}`);
  }

  async #ask(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    this.#asked += 1;
    const id = this.#asked;
    const session = this.#session === undefined ? {} : { sessionId: this.#session };
    const told = await new Promise<Told>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`${method} takes too long`)),
        LONGEST_ANSWER_MS,
      );
      this.#waiting.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      const questions = this.#process.stdio[3] as Writable;
      questions.write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    });
    if (told.error !== undefined) throw new Error(`${method}: ${told.error.message}`);
    return told.result ?? {};
  }

  #hear(text: string): void {
    const parts = (this.#heard + text).split("\0");
    this.#heard = parts.pop() ?? "";
    for (const part of parts) this.#take(JSON.parse(part));
  }

  #take(told: Told): void {
    if (told.id !== undefined) {
      this.#waiting.get(told.id)?.(told);
      this.#waiting.delete(told.id);
      return;
    }
    const params: Readonly<Record<string, unknown>> = told.params ?? {};
    if (told.method === "Network.requestWillBeSent") {
      this.requests.push((params.request as { url: string }).url);
    }
    const complaints = [
      "Log.entryAdded",
      "Runtime.exceptionThrown",
      "Page.javascriptDialogOpening",
    ];
    if (complaints.includes(told.method ?? "")) this.complaints.push(JSON.stringify(params));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#session = undefined;
    await this.#ask("Browser.close").catch(() => this.#process.kill("SIGKILL"));
    await ended;
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
