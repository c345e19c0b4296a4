import { expect } from "vitest";
import {
  type Attack,
  all,
  crashes,
  type Expectation,
  ends,
  prints,
  raises,
  refused,
  timesOut,
} from "./expectations.js";

const EPERM = 1;
const EFBIG = 27;
const EROFS = 30;
const ENOSYS = 38;
const SIGABRT = 6;
const SIGKILL = 9;
const SIGSEGV = 11;
const SIGALRM = 14;

export function also(check: (attack: Attack) => void): Expectation {
  return { check };
}

export const breaksChannel = also(({ runs: [run] }) => {
  expect(run?.status).toBe("crashed");
  expect(run?.error?.type).toBe("ProtocolError");
  expect(run?.state.survived).toBe(true);
});

export const losesNothing = also(({ runs }) => {
  for (const run of runs) expect(run.state.survived).toBe(true);
});

/** The last part's value. */
export function shows(text: string): Expectation {
  return also(({ last }) => {
    expect(last.status).toBe("ok");
    expect(last.result).toEqual({ "text/plain": text });
  });
}

function hasShortMessage(type: RegExp, characters: number): Expectation {
  return also(({ last }) => {
    expect(last.status).toBe("error");
    expect(last.error?.type).toMatch(type);
    const { type: name = "", message = "", traceback = "" } = last.error ?? {};
    expect(Math.max(name.length, message.length)).toBeLessThan(characters);
    expect(traceback.length).toBeLessThan(20 * characters);
  });
}

/** Ends for memory, or prints how many MB it could take. Only a group counts all of them. */
function holdsLessThan(megabytes: number): Expectation {
  return also(({ last }) => {
    if (last.isolation.missing.includes("cgroup.memory")) return;
    expect(last.status).toMatch(/^(oom|ok)$/);
    if (last.status === "ok") expect(Number(last.stdout)).toBeLessThan(megabytes);
  });
}

const call = refused(EPERM, ENOSYS);
const calls = Object.fromEntries(
  Array.from({ length: 20 }, (_, index) => [`call-${String(index + 1).padStart(2, "0")}`, call]),
);

/** Every cell of more-cells.json, and what must come of it. */
export const MORE_EXPECTATIONS: Readonly<Record<string, Expectation>> = {
  "file-01": prints("clean []\n"),
  "file-02": prints(/^(empty \S+ \[\]\n)*$/),
  "file-03": prints(/^(1|18|30)\n$/),
  "file-04": prints(/^(2|13)\n$/),
  "file-05": prints("done\n"),
  "file-06": prints(/^(\d+ ){8}$/),
  "file-07": ends("ok"),
  "file-08": raises("OSError|PermissionError", EROFS),
  "file-09": ends("error"),
  "file-10": raises("OSError", EFBIG),
  "file-11": prints("28\n28\n28\n"),
  "file-12": shows("2"),
  ...calls,
  "call-21": prints("1 1 1 1 1 1 1 1 "),
  "call-22": prints("97 97 97 97 97 97 97 97 97 97 "),
  "call-23": prints("1 1\n"),
  "call-24": prints(/^\[('0{16}'(, )?){5}\]\n$/),
  "life-01": timesOut(),
  "life-02": all(
    { ...shows("True"), config: { timeout: 1000, grace: 300 } },
    also(({ runs }) => expect(runs[1]?.status).toBe("timeout")),
  ),
  "life-03": timesOut(),
  "life-04": crashes(),
  "life-05": also(({ last }) => {
    expect(last.status).toBe("crashed");
    expect(last.state).toMatchObject({ survived: false, checkpoint: 0 });
    expect(last.state.reason).toContain("lost what these cells did: 1");
  }),
  "life-06": all(prints("still\n"), losesNothing),
  "life-07": all(prints("tried\n"), losesNothing),
  "life-08": prints("[]\n"),
  "life-09": all(
    { ...shows("[]"), config: { timeout: 800, grace: 300 } },
    also(({ runs }) => expect(runs[0]?.status).toBe("timeout")),
    losesNothing,
  ),
  "life-10": all(
    prints("left\n"),
    also(({ last }) => expect(last.background).toBe(1)),
  ),
  "life-11": prints("once\n"),
  "life-12": all(
    crashes(),
    also(({ last }) => expect(last.stdout).toBe("hi\n")),
  ),
  "life-13": all(ends("crashed"), losesNothing),
  "life-14": ends("ok", "crashed"),
  "life-15": crashes(SIGKILL),
  "life-16": crashes(SIGSEGV),
  "life-17": crashes(SIGABRT),
  "life-18": crashes(SIGALRM),
  "life-19": crashes(SIGSEGV),
  "life-20": timesOut(),
  "mem-01": all(holdsLessThan(330), losesNothing),
  "mem-02": all(ends("oom"), losesNothing),
  "mem-03": all(ends("oom"), losesNothing),
  "mem-04": holdsLessThan(330),
  "mem-05": holdsLessThan(330),
  "mem-06": all(
    ends("oom"),
    also(({ runs }) => expect(runs[0]?.stdout).toBe("28\n28\n28\n")),
    losesNothing,
  ),
  "mem-07": also(({ last }) => {
    expect(last.status).toMatch(/^(ok|oom)$/);
    if (last.status === "ok") expect(last.stdout).toBe("bounded\n");
  }),
  "mem-08": also(({ last }) => {
    expect(last.status).toBe("ok");
    expect(last.result?.["text/plain"]?.length).toBeLessThan(60_000);
  }),
  "wire-01": breaksChannel,
  "wire-02": breaksChannel,
  "wire-03": breaksChannel,
  "wire-04": breaksChannel,
  "wire-05": breaksChannel,
  "wire-06": crashes(),
  "wire-07": crashes(),
  "wire-08": all(
    prints("after\n"),
    also(({ runs }) => expect(runs[0]?.status).toBe("crashed")),
  ),
  "wire-09": all(prints("sent\n"), losesNothing),
  "wire-10": prints("open\n"),
  "wire-11": prints("x\n"),
  "wire-12": ends("ok", "crashed"),
  "wire-13": shows("2"),
  "wire-14": ends("crashed", "ok"),
  "wire-15": { ...ends("ok", "crashed"), spoilsSession: true },
  "wire-16": shows("2"),
  "wire-18": shows("2"),
  "wire-19": { ...shows("2"), spoilsSession: true },
  "wire-20": crashes(),
  "out-01": also(({ last }) => {
    expect(last.status).toBe("ok");
    for (const stream of ["stdout", "stderr"] as const) {
      expect(last[stream].length).toBeLessThan(60_000);
      expect(last.omitted[stream]).toBeGreaterThan(1e8);
    }
  }),
  "out-02": also(({ last }) => {
    expect([last.stdout, last.stderr]).toEqual(["a".repeat(20_000), "b".repeat(20_000)]);
    expect(last.outputs.slice(0, 2)).toEqual([
      { type: "stdout", text: "a" },
      { type: "stderr", text: "b" },
    ]);
  }),
  "out-03": also(({ last }) => expect(last.stdout.length).toBeLessThan(60_000)),
  "out-04": also(({ last }) => {
    expect(last.status).toBe("ok");
    const pieces = last.outputs.flatMap((output) =>
      output.type === "display" ? Object.values(output.binary) : [],
    );
    expect(pieces.length).toBeGreaterThan(0);
    expect(pieces.reduce((sum, piece) => sum + piece.length, 0)).toBeLessThanOrEqual(64 << 20);
  }),
  "out-05": also(({ last }) => {
    expect(last.status).toBe("ok");
    expect(JSON.stringify(last.outputs).length).toBeLessThan(1 << 20);
    expect(Object.keys(last.result ?? {}).length).toBeLessThan(100);
  }),
  "out-06": hasShortMessage(/^ValueError$/, 12_000),
  "out-07": hasShortMessage(/^SystemExit$/, 12_000),
  "out-08": hasShortMessage(/^E$/, 1000),
  "out-09": timesOut(),
  "out-10": crashes(),
  "out-11": hasShortMessage(/^X+$/, 12_000),
  "out-12": hasShortMessage(/^ValueError$/, 12_000),
  "out-13": hasShortMessage(/^ValueError$/, 1000),
  "out-14": shows("hi"),
  "out-15": ends("ok"),
  "out-16": ends("ok", "error"),
  "out-17": also(({ last }) => {
    expect(last.status).toBe("ok");
    expect(Buffer.from(last.stdout).toString()).toBe(last.stdout);
  }),
  "out-18": ends("crashed", "ok"),
  "out-19": ends("oom", "error"),
  "out-20": raises("SyntaxError|MemoryError"),
};
