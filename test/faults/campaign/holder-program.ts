import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import {
  createSandbox,
  type ISandbox,
  isCellarError,
  Notebook,
  shutdown,
} from "../../../src/index.js";
import type { NotebookOptions } from "../../../src/notebook/index.js";
import { type Account, accountOf } from "./account.js";
import { storeOf, type Variant } from "./variants.js";

/** A process of its own that holds a notebook or a sandbox and does what it is told. */

export interface HolderOrder {
  readonly notebook?: NotebookOptions;
  readonly sandbox?: Parameters<typeof createSandbox>[0];
  readonly variant?: Variant | undefined;
}

export interface Request {
  readonly id: number;
  readonly deed: string;
  readonly args: readonly unknown[];
}

export interface Failure {
  /** Undefined where it was no error of the product's own. */
  readonly code?: string | undefined;
  readonly message: string;
  readonly details?: unknown;
}

export interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: Failure;
  /** The notebook afterwards; undefined where none is open. */
  readonly account?: Account | undefined;
}

/** Everything said before a kill can be heard, as it is written at once. */
function say(reply: Reply): void {
  const bytes = Buffer.from(`${JSON.stringify(reply)}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
  }
}

function failureOf(error: unknown): Failure {
  if (isCellarError(error)) {
    const { code, message, details } = error;
    return { code, message, details };
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { message: text };
}

type Deeds = Readonly<Record<string, (...args: never[]) => unknown>>;

function notebookDeeds(options: NotebookOptions, variant: Variant | undefined) {
  let notebook: Notebook | undefined;
  const forks: Notebook[] = [];
  const open = async (takeover = false) => {
    const store = storeOf(options.dir, variant);
    notebook = await Notebook.open({ ...options, takeover, ...(store && { store }) });
  };
  const held = () => {
    if (notebook === undefined) throw new Error("no notebook is open");
    return notebook;
  };
  const deeds: Deeds = {
    open,
    run: (code: string) => held().run(code),
    add: (code: string) => held().add(code),
    undo: () => held().undo(),
    delete: (id: string) => held().delete(id),
    replay: () => held().replay(),
    putFile: (path: string, text: string) => held().putFile(path, text),
    getFile: async (path: string) => (await held().getFile(path)).toString(),
    fork: async (session: string) => {
      const fork = await held().fork(session);
      forks.push(fork);
      return accountOf(fork);
    },
    look: () => null,
    close: async () => {
      const closing = [notebook, ...forks.splice(0)];
      notebook = undefined;
      for (const one of closing) await one?.close();
    },
  };
  return { deeds, account: () => (notebook === undefined ? undefined : accountOf(notebook)) };
}

function sandboxDeeds(config: HolderOrder["sandbox"]) {
  let sandbox: ISandbox | undefined;
  const held = () => {
    if (sandbox === undefined) throw new Error("no sandbox is open");
    return sandbox;
  };
  const deeds: Deeds = {
    open: async () => {
      sandbox = await createSandbox(config);
    },
    run: (code: string) => held().execute(code),
    undo: () => held().undo(),
    close: () => held().destroy(),
  };
  return { deeds, account: () => undefined };
}

const order = JSON.parse(process.argv[2] ?? "{}") as HolderOrder;
process.on("unhandledRejection", (error) => say({ id: -1, error: failureOf(error) }));
const { deeds, account } =
  order.notebook === undefined
    ? sandboxDeeds(order.sandbox)
    : notebookDeeds(order.notebook, order.variant);
for await (const line of createInterface(process.stdin)) {
  const { id, deed, args } = JSON.parse(line) as Request;
  try {
    if (deed === "exit") break;
    const value = (await deeds[deed]?.(...(args as never[]))) ?? null;
    say({ id, value, account: account() });
  } catch (error) {
    say({ id, error: failureOf(error), account: account() });
  }
}
await shutdown();
