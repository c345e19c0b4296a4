import { expect } from "vitest";
import type { CodeExecution, REPLConfig } from "../../src/index.js";

export interface Attack {
  /** Each part's result, in order. */
  readonly runs: readonly CodeExecution[];
  /** The last result. */
  readonly last: CodeExecution;
  /** What came so far that belongs to no cell. */
  background(): string;
}

type Check = (attack: Attack) => void | Promise<void>;

export interface Expectation {
  readonly check: Check;
  /** Settings under which the cell meets what it is about. */
  readonly config?: REPLConfig;
  /** Parts that run in sessions of their own. */
  readonly freshSessions?: boolean;
  /** What the cell did to its own session may still end the next cell or take its variables. */
  readonly spoilsSession?: boolean;
}

const EPERM = 1;
const ENOENT = 2;
const ENXIO = 6;
const EACCES = 13;
const EINVAL = 22;
const EMFILE = 24;
const EFBIG = 27;
const ENOSPC = 28;
const EROFS = 30;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const ENETUNREACH = 101;
const ECONNREFUSED = 111;
const SIGSEGV = 11;
const SIGSYS = 31;

const BRIEF: REPLConfig = { timeout: 800, grace: 300 };

/** The cell raised this; with one of these error numbers, where it has one. */
export function raises(type: string, ...numbers: number[]): Expectation {
  return {
    check: ({ last }) => {
      expect(last.status).toBe("error");
      expect(last.error?.type).toMatch(new RegExp(`^(${type})$`));
      if (numbers.length > 0) expect(numbers).toContain(errorNumber(last.error?.message ?? ""));
    },
  };
}

export function prints(text: string | RegExp): Expectation {
  return {
    check: ({ last }) => {
      expect(last.status).toBe("ok");
      if (typeof text === "string") expect(last.stdout).toBe(text);
      else expect(last.stdout).toMatch(text);
    },
  };
}

/** A refused system call: its errno is what the cell prints. */
export function refused(...numbers: number[]): Expectation {
  return prints(new RegExp(`^(${numbers.join("|")})\\n$`));
}

export function timesOut(config: REPLConfig = BRIEF): Expectation {
  return {
    config,
    check: ({ last }) => {
      expect(last.status).toBe("timeout");
      expect(last.error?.type).toBe("TimeoutError");
      expect(last.state.survived).toBe(true);
    },
  };
}

export function crashes(...signals: number[]): Expectation {
  return {
    check: ({ last }) => {
      expect(last.status).toBe("crashed");
      expect(last.state.survived).toBe(true);
      if (signals.length > 0) {
        expect(last.error?.message).toMatch(new RegExp(`\\(signal (${signals.join("|")})\\)`));
      }
    },
  };
}

export function ends(...statuses: CodeExecution["status"][]): Expectation {
  return { check: ({ last }) => expect(statuses).toContain(last.status) };
}

export function all(...expectations: Expectation[]): Expectation {
  return {
    ...Object.assign({}, ...expectations),
    check: async (attack) => {
      for (const { check } of expectations) await check(attack);
    },
  };
}

export function errorNumber(message: string): number | undefined {
  const found = /\[Errno (\d+)\]/.exec(message)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Every cell of cells.json that is not left to a later feature, and what must come of it. */
export const EXPECTATIONS: Readonly<Record<string, Expectation>> = {
  "fs-r-01": raises("FileNotFoundError", ENOENT),
  "fs-r-02": raises("PermissionError", EACCES),
  "fs-r-04": raises("PermissionError", EACCES),
  "fs-r-05": prints(/^clean [1-3]\n$/),
  "fs-r-07": prints("clean\n"),
  "fs-r-08": raises("FileNotFoundError", ENOENT),
  "fs-r-10": prints("no\n"),
  "fs-r-11": prints(/^(fd \d+ \/dev\/null\n)*$/),
  "fs-r-13": refused(EPERM),
  "fs-r-14": prints("no\n"),
  "fs-w-01": raises("OSError|PermissionError", EROFS, EACCES),
  "fs-w-02": raises("OSError", EROFS),
  "fs-w-04": raises("OSError|PermissionError", EROFS, EACCES),
  "fs-w-05": raises("OSError|PermissionError|FileNotFoundError", ENOENT, EACCES, EROFS),
  "fs-w-07": raises("PermissionError", EPERM),
  "fs-w-08": prints("suid set 0o104755\n1000\n\n"),
  "fs-w-10": prints("deep\n"),
  "fs-w-11": prints("['\\x1b]0;pwn\\x07\\n$(id).txt']\n"),
  "net-01": raises("OSError", ENETUNREACH),
  "net-02": raises("ConnectionRefusedError", ECONNREFUSED),
  "net-04": raises("gaierror"),
  "net-05": raises("OSError", ENETUNREACH),
  "net-07": raises("OSError", EAFNOSUPPORT),
  "net-08": raises("OSError", EAFNOSUPPORT),
  "net-10": raises("PermissionError", EPERM),
  "net-11": raises("URLError"),
  "proc-01": {
    check: ({ last }) => {
      expect(last.status).toBe("ok");
      const limited = /^limited at (\d+) \[Errno 11\]/.exec(last.stdout)?.[1];
      expect(Number(limited)).toBeLessThanOrEqual(128);
      expect(last.background).toBe(Number(limited));
    },
  },
  "proc-02": prints("alive\n"),
  "proc-04": refused(EPERM),
  "proc-05": raises("OSError|PermissionError", EACCES, EROFS),
  "proc-07": prints("renamed\n"),
  "proc-08": raises("PermissionError", EPERM),
  "proc-10": raises("PermissionError|OSError", EPERM, EINVAL),
  "proc-11": timesOut(),
  "proc-13": all(prints("spun\n"), {
    check: ({ last }) => expect(last.background).toBeGreaterThanOrEqual(1),
  }),
  "kern-01": refused(EPERM),
  "kern-03": refused(EPERM),
  "kern-04": refused(EPERM, ENOSPC),
  "kern-06": refused(EPERM),
  "kern-07": refused(ENOSYS),
  "kern-09": refused(EPERM),
  "kern-10": refused(EPERM),
  "kern-12": refused(EPERM),
  "kern-13": refused(EPERM),
  "kern-15": refused(EPERM),
  "kern-16": refused(EPERM),
  "kern-18": refused(EPERM, ENOSYS),
  "kern-19": refused(EPERM, ENOSYS),
  "kern-21": refused(EPERM),
  "kern-22": refused(EPERM),
  "kern-24": refused(EPERM),
  "kern-25": refused(EPERM),
  "kern-27": refused(EPERM),
  "kern-28": refused(EPERM),
  "kern-30": refused(EPERM),
  "kern-31": raises("OSError|PermissionError", ENXIO, EPERM),
  "kern-33": crashes(SIGSYS, SIGSEGV),
  "kern-34": crashes(SIGSYS),
  "res-01": ends("oom"),
  "res-02": raises("OSError", EFBIG, ENOSPC),
  "res-04": prints("/tmp 28\n/dev/shm 28\n/var/tmp 28\n"),
  "res-05": prints(new RegExp(`^2[0-5]\\d ${EMFILE}\\n$`)),
  "res-07": {
    config: { maxOutputLength: 10_000 },
    check: ({ last }) => {
      expect(last.status).toBe("ok");
      expect(last.stdout.length).toBeLessThan(12_000);
      expect(last.stdout).toContain("bytes omitted");
      expect(last.omitted.stdout).toBeGreaterThan(1 << 30);
      expect(JSON.parse(JSON.stringify(last.stdout))).toBe(last.stdout);
    },
  },
  "res-08": timesOut(),
  "res-10": timesOut(),
  "res-11": timesOut(),
  "res-13": timesOut(),
  "res-14": all(ends("error", "oom", "crashed"), {
    check: ({ last }) => expect(last.state.survived).toBe(true),
  }),
  "res-16": all(crashes(), {
    check: ({ last }) => expect(last.error?.message).toContain("exit code 0"),
  }),
  "res-17": all(raises("SystemExit"), { check: ({ last }) => expect(last.exitCode).toBe(0) }),
  "res-19": ends("ok"),
  "res-20": all(prints("second cell\n"), {
    check: ({ background }) => expect.poll(background).toContain("late"),
  }),
  "res-22": all(ends("ok"), {
    check: ({ last }) => expect(last.result).toEqual({ "text/plain": "'bye'" }),
  }),
  "res-23": timesOut(),
  "res-25": {
    check: ({ last }) => {
      expect(last.status).toBe("ok");
      const text = last.result?.["text/plain"] ?? "";
      expect(text).toMatch(/nan.*inf.*\\ud800.*\\xff/s);
      expect(Buffer.from(text).toString()).toBe(text);
    },
  },
  "res-26": prints("[0, 1, 2, 3, 4, 5, 6, 7]\n"),
  "prot-02": ends("ok", "crashed"),
  "prot-03": all(raises("ValueError"), {
    check: ({ last }) => expect(last.stdout).toContain('{"stdout":"FORGED","exit_code":0}'),
  }),
  "prot-05": all(raises("KeyError"), {
    check: ({ last }) => expect(last.error?.message).toContain("seen"),
  }),
  "prot-06": raises("ZeroDivisionError"),
  "prot-08": prints(/^clean \d+\n$/),
  "prot-09": prints("visible?\n"),
  "prot-15": all(ends("ok"), {
    check: ({ last }) => expect(last.result).toEqual({ "text/plain": "2" }),
  }),
  "prot-17": prints(
    "\x1b]52;c;cm0gLXJmIC8=\x07\x1b[2J\x1b]0;title\x07\x9b31m\r\nERROR [daemon] admin login ok\n",
  ),
  "prot-20": ends("ok", "error"),
  "iso-01": prints("clean\n"),
  "iso-02": prints("done\n"),
  "iso-04": refused(ENOENT),
  "iso-05": { ...prints("clean\n"), freshSessions: true },
};
