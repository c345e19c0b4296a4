import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { open, openIn, run } from "../cellar.mjs";
import { CHECK, needMemory, PAYLOAD, PAYLOAD_NAME } from "../payload.mjs";
import { SeedCodecPeer } from "../peers/seed-codec.mjs";
import { SessionDirs } from "../session-dirs.mjs";
import { median } from "../statistics.mjs";
import { interleave } from "../stopwatch.mjs";

const MOST_BYTES = 1 << 30;
const PAUSE_MS = 300;

/** Restoring a large state in a new session, against decoding it in a running process. */
export const restore = {
  key: "restore_100mb_vs_seed_codec",
  target: { at_least: 2 },
  async run({ runtime, count, use }) {
    needMemory();
    const sessionDirs = use(new SessionDirs());
    const { state, expected, python } = await capture(runtime, sessionDirs.path("captured"));
    const peer = use(await SeedCodecPeer.start(python, PAYLOAD));
    const opened = [];
    const samples = await interleave(
      {
        cellar: () => restoreInto(runtime, sessionDirs, state, expected, opened),
        peer: () => peer.read(),
      },
      { rounds: count(11, 3), warmups: 2, pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.peer) / median(samples.cellar),
      rows: [
        {
          name: "Cellar, restore() of a snapshot in a new session",
          samples: samples.cellar,
          note: PAYLOAD_NAME,
        },
        { name: "Cellar, new session plus its state", samples: opened.slice(2) },
        { name: "base64, lz4 and cloudpickle in a live process", samples: samples.peer },
      ],
    };
  },
};

async function capture(runtime, state) {
  const sandbox = await open(runtime, {});
  try {
    await run(sandbox, PAYLOAD);
    const { stdout: expected } = await run(sandbox, CHECK);
    const file = createWriteStream(state);
    await sandbox.capture(
      () => async (piece) => {
        if (!file.write(piece)) await once(file, "drain");
      },
      { maxBytes: MOST_BYTES },
    );
    file.end();
    await once(file, "close");
    return { state, expected, python: sandbox.info.python.executable };
  } finally {
    await sandbox.destroy();
  }
}

async function restoreInto(runtime, sessionDirs, state, expected, opened) {
  const sessionDir = sessionDirs.make(state);
  const began = performance.now();
  const sandbox = await openIn(runtime, {}, sessionDir);
  try {
    const ready = performance.now();
    await sandbox.restore();
    const taken = performance.now() - ready;
    opened.push(performance.now() - began);
    await run(sandbox, CHECK, expected);
    return taken;
  } finally {
    await sandbox.destroy();
    sessionDirs.remove(sessionDir);
  }
}
