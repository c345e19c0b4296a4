import {
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, link, open } from "node:fs/promises";
import { join } from "node:path";
import { CellarError } from "../../errors.js";
import { diskFault, hasCode } from "./disk-faults.js";
import { makeFolder, namesIn, removeFile, syncFolder, TempNames } from "./disk-folders.js";

const KEY_FILE = "key";
const KEY_BYTES = 32;
const MAC = /^[0-9a-f]{64}$/;

export interface SealedState {
  readonly sha256: string;
  readonly user: string;
  readonly session: string;
  /** Its place in the notebook's history. */
  readonly seq: number;
}

/** Recognises snapshots stored by this host, with a key that never leaves it. */
export class Seal {
  readonly #key: KeyObject;

  private constructor(key: Buffer) {
    this.#key = createSecretKey(key);
    key.fill(0);
  }

  static async open(dir: string): Promise<Seal> {
    const path = join(dir, KEY_FILE);
    try {
      return new Seal((await readKey(path)) ?? (await makeKey(dir)));
    } catch (error) {
      throw diskFault(`opening ${path}`, error);
    }
  }

  sign({ sha256, user, session, seq }: SealedState): string {
    const text = JSON.stringify(["cellar snapshot", sha256, user, session, seq]);
    return createHmac("sha256", this.#key).update(text).digest("hex");
  }

  verify(state: SealedState, mac: string): boolean {
    if (!MAC.test(mac)) return false;
    return timingSafeEqual(Buffer.from(mac, "hex"), Buffer.from(this.sign(state), "hex"));
  }
}

/** Undefined where there is none. */
async function readKey(path: string): Promise<Buffer | undefined> {
  try {
    await using file = await open(
      path,
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    await checkKeyFile(path, file);
    const key = Buffer.alloc(KEY_BYTES);
    const { bytesRead } = await file.read(key, 0, KEY_BYTES, 0);
    if (bytesRead === KEY_BYTES) return key;
    throw unfit(path, `has ${bytesRead} of ${KEY_BYTES} bytes`, "DAMAGED");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw hasCode(error, "ELOOP", "ENXIO") ? unfit(path, "is not a file") : error;
  }
}

async function checkKeyFile(path: string, file: FileHandle): Promise<void> {
  const info = await file.stat();
  if (!info.isFile()) throw unfit(path, "is not a file");
  if (info.size !== KEY_BYTES) throw unfit(path, `has ${info.size} bytes`, "DAMAGED");
  const self = process.geteuid?.();
  if (self === undefined) return;
  if (info.uid !== self) throw unfit(path, `belongs to user ${info.uid}, not to ${self}`);
  if ((info.mode & 0o077) !== 0) {
    throw new CellarError("INVALID_CONFIG", `${path} can be read by other users`, {
      remedy: `others may know the key: remove ${path}, which makes old snapshots unreadable, or chmod 600 it if nobody read it`,
    });
  }
}

/** Another process may be faster; then its key is used. */
async function makeKey(dir: string): Promise<Buffer> {
  await makeFolder(dir);
  const temps = new TempNames();
  await temps.sweep(dir, await namesIn(dir));
  const [temp, path] = [join(dir, temps.next()), join(dir, KEY_FILE)];
  try {
    await using file = await open(temp, "wx", 0o600);
    await file.writeFile(randomBytes(KEY_BYTES));
    await file.sync();
    await link(temp, path);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    await removeFile(temp);
  }
  await syncFolder(dir);
  const key = await readKey(path);
  if (key === undefined) throw unfit(path, "has gone again");
  return key;
}

function unfit(
  path: string,
  why: string,
  code: "INVALID_CONFIG" | "DAMAGED" = "INVALID_CONFIG",
): CellarError {
  return new CellarError(code, `${path} ${why}`, {
    remedy:
      "put the right key back; without one a new key is created, which cannot open old snapshots",
  });
}
