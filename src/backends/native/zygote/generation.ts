import type { HostEnvironment } from "../../../config/environment.js";
import type { Settings } from "../../../config.js";
import type { Interpreter } from "../../../isolation/interpreter.js";
import { assess, type IsolationReport } from "../../../isolation/levels.js";
import type { SandboxInfo } from "../../backend.js";
import { wireLimits } from "../../host/wire-limits.js";
import { SessionPool } from "../pool/session-pool.js";
import { SpareSessionDirs } from "../pool/spare-session-dirs.js";
import { Templates } from "../pool/templates.js";
import type { GroupedWall } from "../wall/grouped-wall.js";
import { probeWalls } from "../wall/probe.js";
import { bootstrapCommand, type WallParts } from "../wall/wall-parts.js";
import { Listener } from "./listener.js";
import { preloadNames } from "./preload.js";
import { Zygote, type ZygoteReport } from "./zygote.js";

/** A zygote with all that makes sessions from it. */
export interface Generation {
  readonly zygote: Zygote;
  readonly pool: SessionPool;
  readonly spareDirs: SpareSessionDirs;
  readonly templates: Templates;
  readonly report: ZygoteReport;
  readonly isolation: IsolationReport;
  readonly interpreter: Interpreter;
  readonly info: SandboxInfo;
  readonly stamp: string;
  /** Identifies the session root: a new folder under the same path is another one. */
  readonly place: string;
  made: number;
  checkAfter: number;
  close(): Promise<void>;
}

export interface GenerationOrder {
  readonly settings: Settings;
  readonly sessionRoot: string | undefined;
  readonly hostEnvironment: HostEnvironment;
  readonly parts: WallParts;
  readonly grouped: GroupedWall;
  readonly stamp: string;
  readonly place: string;
  /** What `close` does, last first; steps for what is opened here are added. */
  readonly undo: (() => unknown)[];
  close(): Promise<void>;
}

/** Boots the zygote behind a wall that has been started, and tries the wall. */
export async function openGeneration(order: GenerationOrder): Promise<Generation> {
  const { settings, sessionRoot, hostEnvironment, parts, grouped, undo, close } = order;
  const { interpreter, runner, folder, identity, sharesNetwork } = parts;
  const { wall, cgroups, group } = grouped;
  const listener = await Listener.open(folder.sockets, identity);
  undo.push(() => listener[Symbol.asyncDispose]());
  const preload = preloadNames(settings.preload);
  const tracksWrites = settings.checkpointMethod === "pages";
  const zygote = new Zygote(wall, listener, { preload, group, sharesNetwork, tracksWrites });
  undo.push(() => zygote.close());
  try {
    const limits = wireLimits(settings.limits);
    const { keepCheckpoints, poolSize } = settings;
    const size = sessionRoot === undefined ? poolSize : 0;
    const spawn = (keep: number) =>
      zygote.forker.spawn({ limits, keepCheckpoints: keep, warmUp: false });
    // With nothing to preload it is ready soon, and what sessions need before is made meanwhile.
    const isQuick = preload.length === 0;
    const ahead = isQuick ? spawn(1) : undefined;
    const isFirstWanted = isQuick && size === 0 && sessionRoot === undefined;
    const first = isFirstWanted ? spawn(keepCheckpoints) : undefined;
    const report = await zygote.report;
    const probed = ahead ?? spawn(1);
    const facts = await probeWalls({
      session: probed,
      zygotePid: zygote.pid ?? 0,
      cgroups,
      temporary: hostEnvironment.temporary,
      environmentNames: hostEnvironment.environmentNames,
    });
    probed.close();
    const isolation = assess(facts);
    const info = describe(isolation, interpreter);
    const plan = { zygote, limits, keepCheckpoints };
    const pool = new SessionPool({ ...plan, size, first });
    const spareDirs = new SpareSessionDirs({ ...plan, sessionRoot, isWanted: poolSize > 0 });
    pool.fill();
    const { temporary } = hostEnvironment;
    const command = bootstrapCommand(interpreter, runner, "send_descriptor");
    const route = { command, fileSocket: wall.fileSocket };
    const templates = new Templates({ zygote, listener, route, temporary });
    undo.push(() => {
      for (const part of [pool, spareDirs, templates]) part.close();
    });
    return {
      zygote,
      pool,
      spareDirs,
      templates,
      report,
      isolation,
      interpreter,
      info,
      stamp: order.stamp,
      place: order.place,
      made: 0,
      checkAfter: 0,
      close,
    };
  } catch (error) {
    const isDead = !zygote.isAlive;
    await close();
    throw isDead ? await zygote.ended : error;
  }
}

function describe(isolation: IsolationReport, interpreter: Interpreter): SandboxInfo {
  return {
    backend: "native",
    mode: "zygote",
    isolation: { level: isolation.level, missing: isolation.missing },
    python: { version: interpreter.version, executable: interpreter.executable },
    reason: `bubblewrap and user namespaces work; Python: ${interpreter.reason}`,
  };
}
