import { chown, copyFile, link, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { AgentSandbox, REPLConfig } from "../backends/backend.js";
import { SPILL_FOLDER, sessionDirOwner, sessionDirPath } from "../backends/host/session-dir.js";
import { openSandbox } from "../backends/select.js";
import { settingLayers } from "../config/environment.js";
import { CellarError, describeError } from "../errors.js";
import { TemporarySessionDir } from "../notebook/run/temporary-dir.js";
import { SPILL_MOUNT } from "./observation/spill.js";
import { wholeCharacters } from "./observation/tokens.js";

/** Bytes of JSON that fit into a message. */
const MAX_MESSAGE = 12_000_000;
const MAX_COPY = 4_000_000;
const LONGEST_FAULT = 200;

/** The sandbox of an agent, which can read spilled outputs. */
export class AgentSession implements AsyncDisposable {
  readonly sandbox: AgentSandbox;
  /** Where cells find spilled outputs. */
  readonly spillPath: string;
  /** The folder that is mounted in the session; undefined where files are sent as messages. */
  readonly #dir: TemporarySessionDir | undefined;
  readonly #hasNetwork: boolean;

  private constructor(
    sandbox: AgentSandbox,
    dir: TemporarySessionDir | undefined,
    spillPath: string,
    hasNetwork: boolean,
  ) {
    this.#hasNetwork = hasNetwork;
    this.sandbox = sandbox;
    this.#dir = dir;
    this.spillPath = spillPath;
  }

  static async open(config: REPLConfig, context: unknown): Promise<AgentSession> {
    const { network = settingLayers().network ?? "none", private: isPrivate } = config;
    const hasNetwork = isPrivate !== true && network !== "none";
    const dir = new TemporarySessionDir(undefined);
    dir.make([SPILL_FOLDER]);
    let sandbox: AgentSandbox | undefined;
    try {
      sandbox = await openSandbox(config, {}, { ...dir.sessionDir, isReplaceable: true });
      if (context !== undefined) await sandbox.initialize(context);
      if (isMounted(sandbox)) return new AgentSession(sandbox, dir, SPILL_MOUNT, hasNetwork);
      await dir[Symbol.asyncDispose]();
      return new AgentSession(sandbox, undefined, await sandbox.putSpilled([]), hasNetwork);
    } catch (error) {
      try {
        await sandbox?.destroy();
      } finally {
        await dir[Symbol.asyncDispose]();
      }
      throw error;
    }
  }

  /** Cells that run now are cut off too. */
  async cutNetwork(reason: string): Promise<void> {
    if (!this.#hasNetwork || this.sandbox.cutNetwork(reason)) return;
    const remedy = "Close the REPL, and open another one with private: true.";
    throw new CellarError("UNSUPPORTED", "the network of this session cannot be cut", { remedy });
  }

  /** Makes a file of the host readable inside, under the same name; returns what is missing. */
  async deliver(name: string, file: string): Promise<string | undefined> {
    const path = `${this.spillPath}/${name}`;
    try {
      if (this.#dir !== undefined) {
        await linkOrCopy(file, this.#pathOf(this.#dir, name));
        return undefined;
      }
      const whole = await readFile(file, "utf8");
      const given = fitting(whole);
      await this.sandbox.putSpilled([{ name, text: given }]);
      return given.length === whole.length
        ? undefined
        : `only the first ${given.length.toLocaleString("en-US")} characters are in ${path}`;
    } catch (error) {
      return `${path} cannot be read: ${describeError(error).slice(0, LONGEST_FAULT)}`;
    }
  }

  async withdraw(name: string): Promise<void> {
    if (this.#dir !== undefined) await rm(this.#pathOf(this.#dir, name), { force: true });
  }

  #pathOf({ sessionDir }: TemporarySessionDir, name: string): string {
    return join(sessionDirPath(sessionDir), SPILL_FOLDER, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.sandbox.destroy();
    } finally {
      await this.#dir?.[Symbol.asyncDispose]();
    }
  }
}

/** The beginning that fits into a message, whatever its characters take as JSON. */
function fitting(text: string): string {
  let given = wholeCharacters(text.slice(0, MAX_COPY));
  while (Buffer.byteLength(JSON.stringify(given)) > MAX_MESSAGE) {
    given = wholeCharacters(given.slice(0, given.length / 2));
  }
  return given;
}

/** Only native sessions behind walls mount the folder. */
function isMounted({ info }: AgentSandbox): boolean {
  return info.backend === "native" && info.mode === "zygote";
}

async function linkOrCopy(file: string, target: string): Promise<void> {
  try {
    await link(file, target);
  } catch {
    await copyFile(file, target);
    const owner = sessionDirOwner();
    if (owner !== undefined) await chown(target, owner.uid, owner.gid);
  }
}
