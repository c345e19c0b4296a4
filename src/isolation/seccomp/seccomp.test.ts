import { describe, expect, it } from "vitest";
import { type Architecture, seccompProgram } from "./seccomp.js";
import { ALLOWED_CALLS, syscallNumbers } from "./syscalls.js";

const ARCHITECTURES: readonly Architecture[] = ["x64", "arm64"];
const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7, i386: 0x40000003, arm: 0x40000028 };

const ALLOW = "allow";
const KILL = "kill";
const EPERM = "errno 1";
const ENOSYS = "errno 38";
const EPROTONOSUPPORT = "errno 93";
const ESOCKTNOSUPPORT = "errno 94";
const EAFNOSUPPORT = "errno 97";

const NEVER = `
  ptrace process_vm_readv process_vm_writev kcmp unshare setns mount umount2 pivot_root chroot
  open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr open_tree_attr statmount
  keyctl add_key request_key bpf perf_event_open userfaultfd io_uring_setup io_uring_enter
  io_uring_register init_module finit_module delete_module kexec_load kexec_file_load reboot swapon
  swapoff syslog acct quotactl quotactl_fd settimeofday clock_settime adjtimex clock_adjtime
  open_by_handle_at name_to_handle_at fanotify_init fanotify_mark move_pages migrate_pages mbind
  set_mempolicy set_mempolicy_home_node pidfd_getfd process_madvise memfd_secret sethostname
  setdomainname vhangup lookup_dcookie seccomp nfsservctl`
  .trim()
  .split(/\s+/);
const NEVER_ON_X64 = ["iopl", "ioperm", "modify_ldt", "uselib", "_sysctl", "create_module"];

const NEEDED = `
  read write openat openat2 close mmap mprotect madvise brk futex execve wait4 waitid exit_group
  kill tgkill pidfd_open pidfd_send_signal memfd_create rseq membarrier sched_setaffinity
  sched_getaffinity getrandom copy_file_range statx epoll_create1 epoll_ctl epoll_pwait
  inotify_init1 timerfd_create eventfd2 signalfd4 shmget semget msgget mq_open setuid setgid
  setresuid setgroups landlock_create_ruleset prlimit64 getdents64 renameat2 unlinkat connect bind
  accept4 sendmsg recvmsg set_robust_list set_tid_address close_range restart_syscall rt_sigreturn`
  .trim()
  .split(/\s+/);

/** Calls that name a process, which may be the caller itself only. */
const OWN_PROCESS_ONLY = `
  sched_setscheduler sched_setparam sched_setattr sched_setaffinity setpriority ioprio_set prlimit64`
  .trim()
  .split(/\s+/);

interface Call {
  audit: number;
  number: number;
  arguments?: readonly (number | bigint)[];
}

describe.each(ARCHITECTURES)("the filter for %s", (architecture) => {
  const program = seccompProgram(architecture);
  const numbers = syscallNumbers(architecture);

  function verdict(name: string, ...args: (number | bigint)[]): string {
    const number = numbers.get(name);
    if (number === undefined) {
      throw new Error(`${name} has no number on ${architecture}`);
    }
    return evaluate(program, { audit: AUDIT[architecture], number, arguments: args });
  }

  it("is well formed: whole records, forward jumps inside it, every path ends", () => {
    expect(program.length % 8).toBe(0);
    const count = program.length / 8;
    expect(count).toBeLessThanOrEqual(4096);
    for (let index = 0; index < count; index += 1) {
      const { code, ifTrue, ifFalse } = instructionAt(program, index);
      if ((code & 7) === 5) {
        expect(index + 1 + Math.max(ifTrue, ifFalse)).toBeLessThan(count);
      }
    }
    expect(instructionAt(program, count - 1).code).toBe(0x06);
  });

  it("kills foreign architectures whatever they call", () => {
    for (const audit of Object.values(AUDIT).filter((one) => one !== AUDIT[architecture])) {
      for (const number of [0, 20, 39, 63, 1000]) {
        expect(evaluate(program, { audit, number })).toBe(KILL);
      }
    }
  });

  it.each(NEVER)("refuses %s", (name) => {
    expect(verdict(name)).toBe(EPERM);
  });

  it.each(NEEDED)("allows %s", (name) => {
    expect(verdict(name)).toBe(ALLOW);
  });

  it("knows every number below its end, and nothing above", () => {
    const known = new Set(numbers.values());
    const end = Math.max(...known);
    for (let number = 0; number <= end; number += 1) {
      const seen = evaluate(program, { audit: AUDIT[architecture], number });
      if (!known.has(number)) {
        expect(seen).toBe(ENOSYS);
      }
    }
    for (const number of [end + 1, end + 2, 600, 1000, 0x3fffffff]) {
      expect(evaluate(program, { audit: AUDIT[architecture], number })).toBe(ENOSYS);
    }
  });

  it("decides each name as the lists say", () => {
    const conditional = ["clone", "clone3", "socket", "socketpair", "ioctl", "prctl"];
    conditional.push("personality", "mknod", "mknodat", "fcntl", ...OWN_PROCESS_ONLY);
    for (const name of numbers.keys()) {
      if (!conditional.includes(name)) {
        expect([name, verdict(name)]).toEqual([name, ALLOWED_CALLS.includes(name) ? ALLOW : EPERM]);
      }
    }
  });

  it("lets processes and threads be made, but no namespaces", () => {
    const SIGCHLD = 17;
    const CLONE_PARENT = 0x8000;
    const THREAD = 0x003d0f00;
    const CHILD_SETTID_CLEARTID = 0x01200000;
    for (const flags of [SIGCHLD, CLONE_PARENT | SIGCHLD, THREAD, CHILD_SETTID_CLEARTID | 17]) {
      expect(verdict("clone", flags)).toBe(ALLOW);
    }
    const kinds = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000];
    for (const kind of kinds) {
      expect(verdict("clone", kind | SIGCHLD)).toBe(EPERM);
      expect(verdict("clone", BigInt(kind) | (1n << 40n))).toBe(EPERM);
    }
    expect(verdict("clone3", 0, 0)).toBe(ENOSYS);
  });

  it.each(["socket", "socketpair"])("lets %s have local and internet families only", (name) => {
    for (let session = 0; session < 64; session += 1) {
      expect(verdict(name, session, 1, 0)).toBe(
        [1, 2, 10].includes(session) ? ALLOW : EAFNOSUPPORT,
      );
    }
    expect(verdict(name, 1n | (40n << 32n), 1, 0)).toBe(ALLOW);
    expect(verdict(name, 0xffffffff, 1, 0)).toBe(EAFNOSUPPORT);
  });

  it("lets internet sockets speak TCP, UDP and ping only", () => {
    const NONBLOCK_CLOEXEC = 0x80800;
    for (const [type, protocol] of [
      [1, 6],
      [2, 17],
      [2, 0],
      [2, 1],
      [2, 58],
      [3, 255],
    ] as const) {
      expect(verdict("socket", 10, type | NONBLOCK_CLOEXEC, protocol)).toBe(ALLOW);
    }
    expect(verdict("socket", 2, 6, 0)).toBe(ESOCKTNOSUPPORT);
    expect(verdict("socket", 2, 5, 132)).toBe(ESOCKTNOSUPPORT);
    expect(verdict("socket", 2, 1, 132)).toBe(EPROTONOSUPPORT);
    expect(verdict("socket", 2, 1, 262)).toBe(EPROTONOSUPPORT);
    expect(verdict("socket", 1, 5, 0)).toBe(ALLOW);
  });

  it("keeps terminals from being typed into, also with junk in the high half", () => {
    for (const request of [0x5412, 0x541c, 0x541d, 0x5423]) {
      expect(verdict("ioctl", 0, request)).toBe(EPERM);
      expect(verdict("ioctl", 0, BigInt(request) | (0xdeadn << 32n))).toBe(EPERM);
    }
    for (const request of [0x5401, 0x5413, 0x541b, 0x5421]) {
      expect(verdict("ioctl", 0, request)).toBe(ALLOW);
    }
  });

  it("lets prctl do all but add a filter or claim a core", () => {
    expect(verdict("prctl", 22, 2)).toBe(EPERM);
    expect(verdict("prctl", 62, 1)).toBe(EPERM);
    for (const option of [1, 4, 15, 16, 36, 38, 40]) {
      expect(verdict("prctl", option)).toBe(ALLOW);
    }
  });

  it("lets files be locked, but not leased or watched", () => {
    for (const command of [1024, 1026]) {
      expect(verdict("fcntl", 3, command)).toBe(EPERM);
      expect(verdict("fcntl", 3, BigInt(command) | (1n << 32n))).toBe(EPERM);
    }
    for (const command of [0, 1, 2, 3, 4, 5, 6, 7, 37, 38, 1025, 1030, 1031, 1032, 1033]) {
      expect(verdict("fcntl", 3, command)).toBe(ALLOW);
    }
  });

  it.each(["sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"])(
    "lets %s change the caller alone",
    (name) => {
      expect(verdict(name, 0, 5)).toBe(ALLOW);
      for (const pid of [1, 2, 4242, 0xffffffff]) expect(verdict(name, pid, 5)).toBe(EPERM);
    },
  );

  it("lets priorities be changed of the caller alone, not of groups or users", () => {
    expect(verdict("setpriority", 0, 0, 19)).toBe(ALLOW);
    expect(verdict("ioprio_set", 1, 0, 0)).toBe(ALLOW);
    for (const [which, who] of [
      [0, 1],
      [1, 0],
      [2, 0],
      [3, 0],
    ] as const) {
      expect(verdict("setpriority", which, who, 19)).toBe(EPERM);
    }
    for (const [which, who] of [
      [1, 1],
      [2, 0],
      [3, 0],
    ] as const) {
      expect(verdict("ioprio_set", which, who, 0)).toBe(EPERM);
    }
  });

  it("lets limits be set of the caller alone, and read of all", () => {
    expect(verdict("prlimit64", 0, 7, 0x7fff_0000_1000n)).toBe(ALLOW);
    expect(verdict("prlimit64", 1, 7, 0, 0x7fff_0000_1000n)).toBe(ALLOW);
    for (const pointer of [0x1000n, 0x7fff_0000_1000n, 0x7fff_0000_0000n]) {
      expect(verdict("prlimit64", 1, 7, pointer)).toBe(EPERM);
    }
  });

  it("refuses memory that no process is charged for, where nobody counts it", () => {
    const [PRIVATE, SHARED, VALIDATED, ANONYMOUS] = [2, 1, 3, 0x20];
    const uncounted = seccompProgram(architecture, { countsMemory: false });
    const ask = (program: Buffer, name: string, ...args: number[]) =>
      evaluate(program, {
        audit: AUDIT[architecture],
        number: numbers.get(name) ?? Number.NaN,
        arguments: args,
      });
    for (const flags of [SHARED | ANONYMOUS, VALIDATED | ANONYMOUS, SHARED | ANONYMOUS | 0x4000]) {
      expect(ask(uncounted, "mmap", 0, 4096, 3, flags)).toBe(EPERM);
      expect(ask(program, "mmap", 0, 4096, 3, flags)).toBe(ALLOW);
    }
    for (const flags of [PRIVATE | ANONYMOUS, SHARED, VALIDATED, PRIVATE]) {
      expect(ask(uncounted, "mmap", 0, 4096, 3, flags)).toBe(ALLOW);
    }
    expect(ask(uncounted, "memfd_create")).toBe(ENOSYS);
    for (const [level, option, expected] of [
      [1, 7, "errno 0"],
      [1, 8, "errno 0"],
      [1, 9, ALLOW],
      [6, 7, ALLOW],
    ] as const) {
      expect(ask(uncounted, "setsockopt", 3, level, option)).toBe(expected);
      expect(ask(program, "setsockopt", 3, level, option)).toBe(ALLOW);
    }
    expect(ask(uncounted, "vmsplice")).toBe(EPERM);
    expect([ask(program, "memfd_create"), ask(program, "vmsplice")]).toEqual([ALLOW, ALLOW]);
  });

  it("lets files be watched only where that was asked for", () => {
    const number = numbers.get("inotify_init1") ?? Number.NaN;
    const blind = seccompProgram(architecture, { inotify: false });
    expect(evaluate(blind, { audit: AUDIT[architecture], number })).toBe(EPERM);
    expect(verdict("inotify_init1")).toBe(ALLOW);
  });

  it("lets personality be asked and reset", () => {
    for (const personality of [0, 0x40000, 0xffffffff]) {
      expect(verdict("personality", personality)).toBe(ALLOW);
    }
    for (const personality of [8, 0x20000, 0x400000, 0x40008]) {
      expect(verdict("personality", personality)).toBe(EPERM);
    }
  });

  it("lets fifos, sockets and files be made, but no devices", () => {
    for (const [format, expected] of [
      [0x1000, ALLOW],
      [0x8000, ALLOW],
      [0xc000, ALLOW],
      [0, ALLOW],
      [0x2000, EPERM],
      [0x6000, EPERM],
    ] as const) {
      expect(verdict("mknodat", 3, 0, format | 0o666)).toBe(expected);
      if (architecture === "x64") {
        expect(verdict("mknod", 0, format | 0o666)).toBe(expected);
      }
    }
  });
});

describe("the filter for x64 alone", () => {
  it("kills calls of the x32 ABI", () => {
    const program = seccompProgram("x64");
    for (const number of [0x40000000, 0x40000000 + 39, 0x40000000 + 512, 0xffffffff]) {
      expect(evaluate(program, { audit: AUDIT.x64, number })).toBe(KILL);
    }
  });

  it.each(NEVER_ON_X64)("refuses %s", (name) => {
    const number = syscallNumbers("x64").get(name) ?? Number.NaN;
    expect(evaluate(seccompProgram("x64"), { audit: AUDIT.x64, number })).toBe(EPERM);
  });
});

describe("the tables", () => {
  it("know every name of the allow-list, each once", () => {
    const known = new Set(ARCHITECTURES.flatMap((one) => [...syscallNumbers(one).keys()]));
    expect(ALLOWED_CALLS.filter((name) => !known.has(name))).toEqual([]);
    expect(new Set(ALLOWED_CALLS).size).toBe(ALLOWED_CALLS.length);
  });

  it("number a few calls as the kernel does", () => {
    const x64 = syscallNumbers("x64");
    const arm64 = syscallNumbers("arm64");
    const names = ["clone", "socket", "execve", "ptrace", "seccomp", "rseq", "clone3", "mseal"];
    expect(names.map((name) => x64.get(name))).toEqual([56, 41, 59, 101, 317, 334, 435, 462]);
    expect(names.map((name) => arm64.get(name))).toEqual([220, 198, 221, 117, 277, 293, 435, 462]);
  });
});

function instructionAt(program: Buffer, index: number) {
  const at = index * 8;
  return {
    code: program.readUInt16LE(at),
    ifTrue: program.readUInt8(at + 2),
    ifFalse: program.readUInt8(at + 3),
    operand: program.readUInt32LE(at + 4),
  };
}

function evaluate(program: Buffer, call: Call): string {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number, 0);
  data.writeUInt32LE(call.audit, 4);
  for (const [index, value] of (call.arguments ?? []).entries()) {
    data.writeBigUInt64LE(BigInt(value), 16 + index * 8);
  }
  let accumulator = 0;
  let index = 0;
  for (;;) {
    const { code, ifTrue, ifFalse, operand } = instructionAt(program, index);
    index += 1;
    switch (code) {
      case 0x20:
        accumulator = data.readUInt32LE(operand);
        break;
      case 0x54:
        accumulator = (accumulator & operand) >>> 0;
        break;
      case 0x15:
        index += accumulator === operand ? ifTrue : ifFalse;
        break;
      case 0x35:
        index += accumulator >= operand ? ifTrue : ifFalse;
        break;
      case 0x45:
        index += (accumulator & operand) !== 0 ? ifTrue : ifFalse;
        break;
      case 0x06:
        return verdictName(operand);
      default:
        throw new Error(`unknown instruction 0x${code.toString(16)}`);
    }
  }
}

function verdictName(action: number): string {
  switch ((action & 0xffff0000) >>> 0) {
    case 0x7fff0000:
      return ALLOW;
    case 0x80000000:
      return KILL;
    case 0x00050000:
      return `errno ${action & 0xffff}`;
    default:
      throw new Error(`unknown action 0x${action.toString(16)}`);
  }
}
