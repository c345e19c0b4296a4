import { AgentRepl, type AgentReplOptions } from "../../src/agent/agent-repl.js";
import { ToolRegistry } from "../../src/registry/registry.js";

const PATIENCE_MS = 5_000;

/** Tools that remember who called them, and how many at once. */
export class WatchedTools {
  /** In the order in which they began. */
  readonly made: string[] = [];
  /** Contents by path, as a tool with effects leaves them. */
  readonly files = new Map<string, string>();
  most = 0;
  cancelled = 0;
  #underWay = 0;
  #waiting: (() => void)[] = [];

  open(options: { secrets?: Readonly<Record<string, string>> } = {}): Promise<ToolRegistry> {
    const reading = { isReadOnly: true } as const;
    const chained = { allowedCallers: ["cell", "chain"] } as const;
    return ToolRegistry.open({
      ...options,
      tools: {
        /** Gives its argument back. */
        echo: { ...reading, execute: ({ value }: { value: unknown }) => this.#note("echo", value) },
        /** Is answered when `count` calls of it are under way at once. */
        meet: {
          ...reading,
          limits: { timeoutMs: PATIENCE_MS },
          execute: ({ count }: { count: number }) => this.#meet(count),
        },
        /** Is never answered. */
        hang: {
          ...reading,
          execute: (_: unknown, { signal }: { signal: AbortSignal }) => this.#hang(signal),
        },
        nothing: { ...reading, execute: () => this.#note("nothing", null) },
        fail: {
          ...reading,
          execute: ({ why }: { why: string }) => {
            this.#note("fail", why);
            throw new Error(why);
          },
        },
        read: {
          ...reading,
          effects: { reads: ["store:{path}"] },
          execute: ({ path }: { path: string }) =>
            this.#note(`read ${path}`, this.files.get(path) ?? "none"),
        },
        write: {
          ...chained,
          effects: { writes: ["store:{path}"] },
          execute: ({ path, text }: { path: string; text: string }) => {
            this.files.set(path, text);
            return this.#note(`write ${path}`, text);
          },
        },
        /** Has effects, and may not be one of several calls of a turn. */
        alone: { execute: () => this.#note("alone", 1) },
        host_only: { allowedCallers: ["host"], execute: () => this.#note("host_only", 1) },
      },
    });
  }

  #note<T>(name: string, value: T): T {
    this.made.push(name);
    return value;
  }

  async #meet(count: number): Promise<number> {
    this.#underWay += 1;
    this.most = Math.max(this.most, this.#underWay);
    try {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        if (this.#waiting.length < count) return;
        for (const go of this.#waiting.splice(0)) go();
      });
      return this.#note("meet", count);
    } finally {
      this.#underWay -= 1;
    }
  }

  #hang(signal: AbortSignal): Promise<never> {
    this.made.push("hang");
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        this.cancelled += 1;
        reject(new Error("cancelled"));
      });
    });
  }
}

/** A REPL of structured turns with such tools. */
export async function openWatched(options: AgentReplOptions = {}) {
  const watched = new WatchedTools();
  const registry = await watched.open();
  const config = { backend: "native", preload: "none" } as const;
  const repl = await AgentRepl.open({ structured: true, tools: registry, config, ...options });
  return {
    watched,
    registry,
    repl,
    async [Symbol.asyncDispose]() {
      await repl.close();
      await registry[Symbol.asyncDispose]();
    },
  };
}
