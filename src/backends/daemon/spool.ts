import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { hostEnvironment } from "../../config/environment.js";
import { temporaryTrouble } from "../../isolation/temporary-trouble.js";
import { wholeEnd } from "../session/context/context.js";
import type { WireContext } from "./context-codec.js";

const PIECE_CHARACTERS = 256 * 1024;

/** In a folder that bears the daemon's number: what it leaves behind is swept when it is gone. */
export async function spool(text: string, daemon: number): Promise<WireContext> {
  const { temporary } = hostEnvironment();
  let folder: string | undefined;
  try {
    folder = await mkdtemp(join(temporary, `cellar-${daemon}-`));
    const path = join(folder, "context");
    await pipeline(
      Readable.from(pieces(text)),
      createWriteStream(path, { flags: "wx", mode: 0o600 }),
    );
    return { kind: "file", path, temporary: true };
  } catch (error) {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    throw temporaryTrouble("the context", folder ?? temporary, error);
  }
}

function* pieces(text: string): Generator<Buffer> {
  let at = 0;
  while (at < text.length) {
    const end = wholeEnd(text, at + PIECE_CHARACTERS);
    yield Buffer.from(text.slice(at, end));
    at = end;
  }
}
