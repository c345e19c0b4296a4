import { setTimeout as sleep } from "node:timers/promises";
import { daemonAddress } from "../../../src/backends/daemon/address.js";
import { livePid } from "../../../src/backends/daemon/pid-file.js";
import type { CodeExecution } from "../../../src/index.js";
import { Chance } from "./chance.js";
import { runDeed, tokenOf, tokensOf } from "./deeds.js";
import { describeFault, type Fault, planFault, strike } from "./faults.js";
import type { Fixture, Plot } from "./fixture.js";
import type { Heard, Holder } from "./holder.js";
import type { Failure } from "./holder-program.js";
import type { Findings } from "./model.js";
import { factsOf } from "./process-tree.js";
import type { RoundReport } from "./round.js";

const LEAVING_MS = 30_000;
const LOOK_MS = 20;

const SETTINGS = {
  preload: "none",
  poolSize: 0,
  timeout: 20_000,
  grace: 300,
  checkpoints: "always",
  limits: { memoryMb: 256, processes: 64 },
} as const;

/** What a call on a sandbox may fail with when its processes are ended. */
const EXPLAINED = ["SESSION_LOST", "START_FAILED", "CHECKPOINT_GONE"];
const DAEMON_EXPLAINED = [...EXPLAINED, "DAEMON_UNAVAILABLE"];

/** Cells of a sandbox, here or at a daemon: what a result says of the state is so in the next one. */
export class SessionRound {
  readonly #seed: number;
  readonly #chance: Chance;
  readonly #plot: Plot;
  readonly #fixture: Fixture;
  readonly #isDaemon: boolean;
  readonly #findings: Findings = { lost: [], untrue: [], leftBehind: [] };
  readonly #counts = { acknowledged: 0, kills: 0, stops: 0, strikes: 0, takeovers: 0 };
  readonly #trail: string[] = [];
  /** The states that the variables may be in; undefined once any may be. */
  #states: string[] | undefined = [""];
  /** The state before each cell that can be undone, the newest last. */
  #isSuffering = false;

  constructor({ fixture, seed, isDaemon }: { fixture: Fixture; seed: number; isDaemon: boolean }) {
    this.#seed = seed;
    this.#chance = new Chance(`session ${seed}`);
    this.#fixture = fixture;
    this.#plot = fixture.plot(`r${seed}`);
    this.#isDaemon = isDaemon;
  }

  async run(): Promise<RoundReport> {
    let holder: Holder | undefined;
    try {
      const backend = this.#isDaemon ? "daemon" : "native";
      holder = this.#fixture.start(this.#plot, { sandbox: { ...SETTINGS, backend } });
      await this.#work(holder);
    } catch (error) {
      this.#findings.untrue.push(`the round failed: ${(error as Error).stack}`);
    }
    await this.#end(holder);
    const wasKilled = holder?.isKilled === true || this.#counts.kills > 0;
    await this.#plot.inspect(this.#findings, wasKilled);
    return { seed: this.#seed, ...this.#findings, counts: this.#counts, trail: this.#trail };
  }

  async #work(holder: Holder): Promise<void> {
    if (!(await this.#isAnswered(await holder.ask("open"), "open"))) return;
    for (let count = 1; count <= this.#chance.between(4, 8) && !holder.isGone; count += 1) {
      const fault = planFault(this.#chance, ["kill", "stop"]);
      const isStruck = this.#chance.below(2) === 0;
      const suffering = isStruck ? this.#suffer(holder, fault) : Promise.resolve();
      if (this.#chance.below(3) === 0) await suffering;
      const { code = "" } = runDeed(`t${this.#seed}x${count}`, this.#chance);
      const heard = await holder.ask("run", code);
      await suffering;
      if (!(await this.#isAnswered(heard, "run")) || heard.kind !== "reply") continue;
      this.#observe(code, heard.reply.value as CodeExecution);
    }
  }

  async #suffer(holder: Holder, fault: Fault | undefined): Promise<void> {
    if (fault === undefined || "disk" in fault) return;
    this.#isSuffering = true;
    const daemon = this.#daemon;
    this.#trail.push(describeFault(fault));
    const signalHost = (name: NodeJS.Signals) => {
      if (daemon === undefined) holder.signal(name);
      else signalTo(daemon, name);
    };
    const isStruck = await strike(daemon ?? holder.pid, fault, signalHost);
    if (!isStruck) return;
    this.#counts[fault.kind === "kill" ? "kills" : "stops"] += 1;
  }

  /** False for a failure, which must be one that the faults explain. */
  async #isAnswered(heard: Heard, name: string): Promise<boolean> {
    if (heard.kind === "hung") this.#findings.untrue.push(`${name} was never answered`);
    if (heard.kind !== "reply") return false;
    const { error } = heard.reply;
    if (error === undefined) return true;
    this.#trail.push(`${name} failed with ${error.code}: ${error.message}`);
    this.#states = undefined;
    this.#judge(name, error);
    return false;
  }

  #judge(name: string, { code, message }: Failure): void {
    const explained = this.#isDaemon ? DAEMON_EXPLAINED : EXPLAINED;
    if (code === undefined || !this.#isSuffering || !explained.includes(code)) {
      this.#findings.untrue.push(`${name} failed with ${code ?? "no code"}: ${message}`);
    }
  }

  /** Compares what a cell shows with what the results before it said. */
  #observe(code: string, { status, state, stdout, error }: CodeExecution): void {
    this.#counts.acknowledged += 1;
    const token = tokenOf(code) ?? "";
    const shown = tokensOf(stdout.split("\n")[0] ?? "").join(" ");
    this.#trail.push(
      `${token} ${status}, ${JSON.stringify(state)}, shows ${shown || error?.message}`,
    );
    const before = this.#states;
    const after = before?.map((one) => `${one} ${token}`.trim());
    if (status === "ok") {
      if (state.survived && after !== undefined && !after.includes(shown)) {
        this.#findings.untrue.push(`survived, but the variables hold ${shown}, not ${after}`);
      }
      if (!this.#isSuffering && !state.survived) this.#findings.untrue.push("lost without a fault");
      this.#states = [shown];
    } else if (!state.survived) this.#states = undefined;
    // It may have answered before it died; then its copy has its work too.
    else if (before !== undefined) this.#states = [...before, ...(after ?? [])];
  }

  async #end(holder: Holder | undefined): Promise<void> {
    if (holder !== undefined && !holder.isGone) {
      await holder.ask("close");
      if (!(await holder.leaves(LEAVING_MS))) {
        this.#findings.leftBehind.push("the process did not end by itself");
        await holder.kill();
      }
    }
    const daemon = this.#daemon;
    if (daemon === undefined) return;
    signalTo(daemon, "SIGTERM");
    for (let left = LEAVING_MS; left > 0 && isAlive(daemon); left -= LOOK_MS) await sleep(LOOK_MS);
    if (!isAlive(daemon)) return;
    this.#findings.leftBehind.push("the daemon did not end when it was told to");
    signalTo(daemon, "SIGKILL");
  }

  /** The client starts one where there is none. */
  get #daemon(): number | undefined {
    return this.#isDaemon ? livePid(daemonAddress(this.#plot.folder)) : undefined;
  }
}

function isAlive(pid: number): boolean {
  return !["Z", "X", undefined].includes(factsOf(pid)?.state);
}

function signalTo(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has gone by itself.
  }
}
