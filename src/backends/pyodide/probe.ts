import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import type { Finding, ProbeFacts } from "../../isolation/levels.js";
import { NAMESPACES, namespaceOf } from "./inside/probe.js";

/** What the wall sets itself. */
const GIVEN_ENVIRONMENT = ["LD_LIBRARY_PATH", "PWD"];

const answerSchema = z.strictObject({
  reads_canary: z.boolean(),
  reads_own_file: z.boolean(),
  /** Null when it was not asked to try. */
  reaches_host: z.boolean().nullable(),
  writes_root: z.boolean(),
  status: z.string().max(16_384),
  limits: z.string().max(16_384),
  environment: z.array(z.string()).max(1024),
  namespaces: z.record(z.string(), z.string()),
});

/** What the process found out about its walls, before anything else ran in it. */
export type ProbeAnswer = z.infer<typeof answerSchema>;

/** A file and a port of the host that nothing behind a wall may reach, though everybody else can. */
export class ProbeTargets implements Disposable {
  readonly canary: string;
  readonly port: number;
  readonly #server: Server;

  private constructor(folder: string, server: Server) {
    this.#server = server;
    this.canary = join(folder, "canary");
    this.port = (server.address() as AddressInfo).port;
  }

  /** Creates and tests them: targets that cannot be reached at all would prove nothing. */
  static async create(folder: string): Promise<ProbeTargets> {
    const server = createServer((socket) => socket.destroy());
    server.unref();
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", resolve);
    });
    const targets = new ProbeTargets(folder, server);
    writeFileSync(targets.canary, randomBytes(16).toString("hex"), { mode: 0o644 });
    readFileSync(targets.canary);
    await reach(targets.port);
    return targets;
  }

  [Symbol.dispose](): void {
    this.#server.close();
  }
}

function reach(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.destroy();
      resolve();
    });
  });
}

export interface ProbedProcess {
  /** The process's report from before user code ran in it. */
  readonly report: string;
  readonly pid: number;
  readonly isWalled: boolean;
  /** What the host's environment has: finding one of these inside means that it leaks. */
  readonly environmentNames: readonly string[];
  readonly groups: ProbeFacts;
  /** What an earlier session of this kind found, where this one did not try the network. */
  readonly network: Finding | undefined;
}

/** What isolates the process from the host, as tested from inside. */
export function factsOf(probed: ProbedProcess): ProbeFacts {
  const answer = answerSchema.safeParse(parsed(probed.report)).data;
  if (answer === undefined) return { limits: { ok: false, detail: "the probe gave no answer" } };
  const none: Finding = { ok: false, detail: "a process without isolation" };
  const shared = NAMESPACES.filter((name) => answer.namespaces[name] === namespaceOf(name));
  const strange = answer.environment.filter(
    (name) => probed.environmentNames.includes(name) && !GIVEN_ENVIRONMENT.includes(name),
  );
  const status = (name: string) => statusField(answer.status, name);
  const uid = hostUid(probed.pid);
  return {
    limits: finding(
      /^Max core file size\s+0\s+0\s/m.test(answer.limits) && strange.length === 0,
      "rlimits set (memory among them), kill, an environment of its own",
      strange.length > 0 ? `the environment shows ${strange.join(", ")}` : "rlimits are not set",
    ),
    "host-uid": finding(uid > 0, `uid ${uid} on the host`, "it runs as root of the host"),
    seccomp: finding(
      status("Seccomp") === "2" &&
        status("NoNewPrivs") === "1" &&
        /^0+$/.test(status("CapEff") + status("CapBnd")),
      "filter installed, no capabilities, no new privileges",
      "the filter or the capability drop is not in force",
    ),
    landlock: { ok: false, detail: "not used: the mount namespace confines files" },
    "outer-wall": probed.isWalled
      ? finding(
          shared.length === 0 && !answer.writes_root,
          "bubblewrap, read-only root with nothing but the engine in it",
          "the root folder can be written, or a namespace is shared",
        )
      : none,
    "inner-wall": probed.isWalled
      ? finding(
          shared.length === 0,
          `own ${NAMESPACES.join(", ")} namespaces for each session`,
          `shared with the host: ${shared.join(", ")}`,
        )
      : none,
    canary: finding(
      !answer.reads_canary && answer.reads_own_file,
      "a world-readable file of the host cannot be opened; its own can",
      answer.reads_canary ? "a file of the host was read" : "the control read failed",
    ),
    network: networkFinding(answer.reaches_host, shared.includes("net"), probed.network),
    ...probed.groups,
    "guest-kernel": { ok: false, detail: "the kernel is shared with the host" },
  };
}

/** An earlier finding holds for a process that again has a network of its own. */
function networkFinding(
  isReached: boolean | null,
  isShared: boolean,
  earlier: Finding | undefined,
): Finding {
  if (isReached !== null) {
    return finding(
      !isReached,
      "a listening port of the host cannot be reached",
      "a port of the host was reached",
    );
  }
  if (earlier !== undefined && (!isShared || !earlier.ok)) return earlier;
  return { ok: false, detail: "the network was not tried" };
}

function finding(ok: boolean, good: string, bad: string): Finding {
  return { ok, detail: ok ? good : bad };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function statusField(status: string, name: string): string {
  return new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(status)?.[1] ?? "";
}

/** Of the innermost process: those around it may only be there to drop root. */
function hostUid(pid: number): number {
  try {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
    if (child !== undefined && child !== "") return hostUid(Number(child));
    return Number(statusField(readFileSync(`/proc/${pid}/status`, "utf8"), "Uid"));
  } catch {
    return process.getuid?.() ?? 0;
  }
}
