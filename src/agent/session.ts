import { chown, copyFile, link, rm } from "node:fs/promises";
import { join } from "node:path";
import type { AgentSandbox, REPLConfig } from "../backends/backend.js";
import {
  type SessionDir,
  SPILL_FOLDER,
  sessionDirOwner,
  sessionDirPath,
} from "../backends/host/session-dir.js";
import { openSandbox } from "../backends/select.js";
import { describeError } from "../errors.js";
import { TemporarySessionDir } from "../notebook/run/temporary-dir.js";
import { SPILL_MOUNT } from "./observation/spill.js";
import { wholeCharacters } from "./observation/tokens.js";

/** What a message can carry, as JSON. */
const MOST_BYTES = 12_000_000;
const LONGEST_GIVEN = 4_000_000;
const LONGEST_FAULT = 200;

/** The sandbox of an agent, and the way in which spilled outputs come to it. */
export class AgentSession implements AsyncDisposable {
  readonly sandbox: AgentSandbox;
  /** Where cells find spilled outputs. */
  readonly spillPath: string;
  readonly #room: TemporarySessionDir | undefined;

  private constructor(
    sandbox: AgentSandbox,
    room: TemporarySessionDir | undefined,
    spillPath: string,
  ) {
    this.sandbox = sandbox;
    this.#room = room;
    this.spillPath = spillPath;
  }

  static async open(config: REPLConfig, context: unknown): Promise<AgentSession> {
    const room = new TemporarySessionDir(undefined);
    room.furnish([SPILL_FOLDER]);
    let sandbox: AgentSandbox | undefined;
    try {
      sandbox = await openSandbox(config, {}, { ...room.room, isReplaceable: true });
      if (context !== undefined) await sandbox.initialize(context);
      if (hasRoom(sandbox)) return new AgentSession(sandbox, room, SPILL_MOUNT);
      await room[Symbol.asyncDispose]();
      return new AgentSession(sandbox, undefined, await sandbox.putSpilled([]));
    } catch (error) {
      try {
        await sandbox?.destroy();
      } finally {
        await room[Symbol.asyncDispose]();
      }
      throw error;
    }
  }

  /** Makes a file of the host readable inside, under the same name; says what of it is not. */
  async deliver(
    name: string,
    file: string,
    text: () => Promise<string>,
  ): Promise<string | undefined> {
    const path = `${this.spillPath}/${name}`;
    try {
      if (this.#room !== undefined) {
        await place(this.#room.room, name, file);
        return undefined;
      }
      const whole = await text();
      const given = fitting(whole);
      await this.sandbox.putSpilled([{ name, text: given }]);
      return given.length === whole.length
        ? undefined
        : `only the first ${given.length.toLocaleString("en-US")} characters are in ${path}`;
    } catch (error) {
      return `${path} cannot be read: ${describeError(error).slice(0, LONGEST_FAULT)}`;
    }
  }

  /** A file of the host that is gone takes no room inside either. */
  async withdraw(name: string): Promise<void> {
    if (this.#room === undefined) return;
    await rm(join(sessionDirPath(this.#room.room), SPILL_FOLDER, name), { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.sandbox.destroy();
    } finally {
      await this.#room?.[Symbol.asyncDispose]();
    }
  }
}

/** The beginning that a message can carry, however its characters are written there. */
function fitting(text: string): string {
  let given = wholeCharacters(text.slice(0, LONGEST_GIVEN));
  while (Buffer.byteLength(JSON.stringify(given)) > MOST_BYTES) {
    given = wholeCharacters(given.slice(0, given.length / 2));
  }
  return given;
}

/** Only the native backend has rooms, and a mount of them behind walls. */
function hasRoom({ info }: AgentSandbox): boolean {
  return info.backend === "native" && info.mode === "zygote";
}

async function place(room: SessionDir, name: string, file: string): Promise<void> {
  const target = join(sessionDirPath(room), SPILL_FOLDER, name);
  try {
    await link(file, target);
  } catch {
    await copyFile(file, target);
    const owner = sessionDirOwner();
    if (owner !== undefined) await chown(target, owner.uid, owner.gid);
  }
}
