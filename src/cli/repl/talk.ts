import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { planAgent, withPolicy } from "../../agent/options.js";
import type { ISandbox, REPLConfig } from "../../backends/backend.js";
import { createSandbox } from "../../backends/create-sandbox.js";
import { onAbort } from "../../concurrency/abort.js";
import {
  hostEnvironment,
  settingLayers,
  terminalEnvironment,
  userFolders,
} from "../../config/environment.js";
import { EXIT } from "../exit-codes.js";
import { type SandboxOptions, toConfig } from "../options/sandbox-config.js";
import { imageProtocol } from "../terminal/images.js";
import { Interruption } from "../terminal/signals.js";
import { isTerminal, withProgress } from "../terminal/terminal.js";
import { CellSplitter } from "./cell-splitter.js";
import { COMMAND_NAMES } from "./commands.js";
import { History } from "./history.js";
import { Prompt, type PromptSession } from "./prompt.js";
import { ReplSession } from "./session.js";

export interface ReplOptions extends SandboxOptions {
  readonly context?: string;
}

export async function repl(options: ReplOptions): Promise<number> {
  const isEditable = terminalEnvironment().TERM !== "dumb";
  const interactive = isEditable && isTerminal(process.stdin) && isTerminal(process.stdout);
  const session = new ReplSession({
    interactive,
    protocol: imageProtocol(process.stdout),
    imageFolder: imageFolder(),
  });
  const starting = openWith(options, session.callbacks);
  const sandbox = await withProgress("starting Python…", starting);
  session.begin(sandbox, options);
  return interactive ? talk(session) : readPipe(session);
}

/** With a context it is what an agent has, but for outputs, of which a person sees the whole. */
async function openWith(options: ReplOptions, callbacks: REPLConfig): Promise<ISandbox> {
  // Whatever was typed can be undone, unless the settings want it otherwise.
  const { checkpoints = "always" } = settingLayers() as Pick<REPLConfig, "checkpoints">;
  const config = { checkpoints, ...toConfig(options) };
  const { context } = options;
  if (context === undefined) return await createSandbox({ ...config, ...callbacks, poolSize: 0 });
  const { maxOutputLength: _, ...plan } = planAgent({}, withPolicy("off", config), true).config;
  const sandbox = await createSandbox({ ...plan, ...config, ...callbacks, poolSize: 0 });
  await sandbox.initialize({ file: context });
  return sandbox;
}

async function talk(session: ReplSession): Promise<number> {
  const { python, isolation } = session.sandbox.info;
  process.stdout.write(
    `Python ${python.version} in Cellar, isolation ${isolation.level}. %help lists the commands.\n`,
  );
  const history = new History(join(userFolders().state, "history"));
  const prompt = new Prompt(history, sessionOf(session.sandbox));
  session.aroundOutput = (write) => prompt.interject(write);
  try {
    for (;;) {
      const text = await prompt.read(session.nextNumber);
      if (text === undefined) break;
      const goesOn = await prompt.duringRun(
        () => session.cancel(),
        () => session.take(text),
      );
      if (!goesOn) break;
    }
  } finally {
    prompt.close();
  }
  return EXIT.ok;
}

/** The prompt's own commands are completed too. */
function sessionOf(sandbox: ISandbox): PromptSession {
  return {
    isComplete: (text) => sandbox.isComplete(text),
    complete: async (text, cursor) => {
      const found = await sandbox.complete(text, cursor);
      if (!/^\s*%\w*$/.test(text.slice(0, cursor))) return found;
      const typed = text.slice(found.start, found.end);
      const own = COMMAND_NAMES.filter((name) => name.startsWith(typed));
      return { ...found, matches: [...new Set([...own, ...found.matches])].sort() };
    },
  };
}

async function readPipe(session: ReplSession): Promise<number> {
  using interruption = new Interruption();
  using _ = onAbort(interruption.signal, () => session.cancel());
  // A session that cannot answer runs the cell, which says why.
  const splitter = new CellSplitter(async (text) => {
    const answer = await session.sandbox.isComplete(text).catch(() => undefined);
    return answer?.status === "incomplete";
  });
  const lines = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  const run = async (cell: string | undefined) => cell === undefined || (await session.take(cell));
  let goesOn = true;
  for await (const line of lines) {
    goesOn = await run(await splitter.feed(line));
    if (!goesOn || interruption.signal.aborted) break;
  }
  if (goesOn && !interruption.signal.aborted) await run(splitter.flush());
  if (interruption.signal.aborted) return EXIT.cancelled;
  return session.failures > 0 ? EXIT.failed : EXIT.ok;
}

function imageFolder(): string {
  try {
    accessSync(process.cwd(), constants.W_OK);
    return "cellar-images";
  } catch {
    return join(hostEnvironment().temporary, "cellar-images");
  }
}
