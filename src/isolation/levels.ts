/** From none to hostile multi-tenant, weakest first. */
export const ISOLATION_LEVELS = ["L0", "L1", "L2", "L3-", "L3", "L4"] as const;

export type IsolationLevel = (typeof ISOLATION_LEVELS)[number];

/** What one probe saw; `fix` says what would make it pass. */
export interface Finding {
  ok: boolean;
  detail: string;
  fix?: string | undefined;
}

/** What was tried on this machine, by name. A probe that was not run counts as failed. */
export const PROBES = {
  limits: "rlimits, kill and an empty environment",
  "host-uid": "the sandbox is not root on the host",
  seccomp: "the system call filter is in force",
  landlock: "Landlock confines files",
  "outer-wall": "bubblewrap isolates the sandbox from the host",
  "inner-wall": "each session has namespaces of its own",
  canary: "a file of the host cannot be read",
  network: "no network can be reached",
  "cgroup.memory": "a memory cgroup for each session",
  "cgroup.pids": "a pids cgroup for each session",
  "guest-kernel": "a kernel of its own around everything",
} as const;

export type ProbeName = keyof typeof PROBES;

export type ProbeFacts = Partial<Readonly<Record<ProbeName, Finding>>>;

export interface IsolationCheck extends Finding {
  name: ProbeName;
}

export interface IsolationReport {
  level: IsolationLevel;
  /** All that may be said of this level, in one sentence. */
  claims: string;
  /** What is not there of the level L3. */
  missing: string[];
  checks: IsolationCheck[];
}

const CLAIMS: Readonly<Record<IsolationLevel, string>> = {
  L0: "No isolation: code runs as you.",
  L1: "Protection from accidents, not from hostile code.",
  L2: "File and network confinement, with no isolation between sessions.",
  "L3-": "OS sandbox on a shared kernel, without cgroup limits.",
  L3: "OS sandbox on a shared kernel.",
  L4: "Fit for hostile tenants: a kernel of its own around an OS sandbox.",
};

const CONFINED: readonly ProbeName[] = ["limits", "host-uid", "seccomp", "canary", "network"];
const WALLED: readonly ProbeName[] = [...CONFINED, "outer-wall", "inner-wall"];
const LIMITED: readonly ProbeName[] = [...WALLED, "cgroup.memory", "cgroup.pids"];

/** Strongest first, for the first whose needs are met is the one in force. */
const NEEDS: readonly (readonly [IsolationLevel, readonly ProbeName[]])[] = [
  ["L4", [...LIMITED, "guest-kernel"]],
  ["L3", LIMITED],
  ["L3-", WALLED],
  ["L2", [...CONFINED, "landlock"]],
  ["L1", ["limits"]],
];

export function meets(level: IsolationLevel, minimum: IsolationLevel): boolean {
  return ISOLATION_LEVELS.indexOf(level) >= ISOLATION_LEVELS.indexOf(minimum);
}

/** All that may be said of a level, in one sentence. */
export function claimOf(level: IsolationLevel): string {
  return CLAIMS[level];
}

/** The level that the probes prove, and what the next ones lack. */
export function assess(facts: ProbeFacts): IsolationReport {
  const holds = (name: ProbeName) => facts[name]?.ok === true;
  const level = NEEDS.find(([, needs]) => needs.every(holds))?.[0] ?? "L0";
  return {
    level,
    claims: claimOf(level),
    missing: LIMITED.filter((name) => !holds(name)),
    checks: (Object.keys(PROBES) as ProbeName[]).map((name) => ({
      name,
      ...(facts[name] ?? { ok: false, detail: "not probed" }),
    })),
  };
}
