import {
  ALLOWED,
  argument,
  failure,
  highHalf,
  JUMP_IF_ANY_BIT,
  JUMP_IF_EQUAL,
  jump,
  load,
  mask,
  type Program,
  REFUSED,
  TRACED,
  UNKNOWN,
} from "./bpf.js";

const EPERM = 1;
const EPROTONOSUPPORT = 93;
const ESOCKTNOSUPPORT = 94;
const EAFNOSUPPORT = 97;

/** NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const NAMESPACE_FLAGS = 0x7e020000;

const CLONE_THREAD = 0x10000;

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const SOCKET_TYPE_MASK = 0xf;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
const SOCK_RAW = 3;
/** Default, ICMP, TCP, UDP, ICMPv6, raw: others make the kernel load protocol modules. */
const INTERNET_PROTOCOLS = [0, 1, 6, 17, 58, 255];

const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const TIOCCONS = 0x541d;
/** Line disciplines are kernel code that no session needs. */
const TIOCSETD = 0x5423;
const TERMINAL_REQUESTS = [TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD];
const PR_SET_SECCOMP = 22;
/** It keeps others off the processor's other threads. */
const PR_SCHED_CORE = 62;
/** PER_LINUX, ADDR_NO_RANDOMIZE (sanitizers ask for it) and the query. */
const PERSONALITIES = [0, 0x0040000, 0xffffffff];

/** A lease on a bound file would block the host's own opens of it. */
const F_SETLEASE = 1024;
const F_NOTIFY = 1026;

/** An argument that the call does not have, by which init's is told from others. */
const TRACKING_MARK = 0x63656c6c;
/** It can also forget which pages were written. */
const PAGEMAP_SCAN = 0xc0606610;

const PRIO_PROCESS = 0;
const IOPRIO_WHO_PROCESS = 1;

const FILE_TYPE_MASK = 0xf000;
const CHARACTER_DEVICE = 0x2000;
const BLOCK_DEVICE = 0x6000;

const MAP_SHARED = 0x01;
const MAP_ANONYMOUS = 0x20;

const SOL_SOCKET = 1;
const SO_SNDBUF = 7;
const SO_RCVBUF = 8;

const REFUSED_ELSE_ALLOWED: Program = [...REFUSED, ...ALLOWED];

export interface FilterOptions {
  /** Whether the kernel counts memory that belongs to no process; default true. */
  readonly countsMemory?: boolean | undefined;
  /** Whether files may be watched, where nothing but the filter could forbid it; default true. */
  readonly inotify?: boolean | undefined;
  /** Whether init makes checkpoints by the pages that were written; default false. */
  readonly tracksWrites?: boolean | undefined;
}

/** The verdicts of a session's filter that depend on arguments, by the name of the call. */
export function sessionRules(options: FilterOptions): ReadonlyMap<string, Program> {
  const socket = socketRule();
  return new Map<string, Program>([
    [
      "clone",
      [load(argument(0)), jump(JUMP_IF_ANY_BIT, NAMESPACE_FLAGS, 0, 1), ...REFUSED_ELSE_ALLOWED],
    ],
    // Its flags are behind a pointer that no filter can follow; libc falls back to clone.
    ["clone3", UNKNOWN],
    ["socket", socket],
    ["socketpair", socket],
    ["personality", [load(argument(0)), ...unlessOneOf(PERSONALITIES, EPERM), ...ALLOWED]],
    ["mknod", deviceRule(1)],
    ["mknodat", deviceRule(2)],
    ...sharedRules(),
    ...ownProcessRules(),
    ...(options.countsMemory === false ? uncountedMemoryRules() : []),
    ...(options.inotify === false ? watchRules() : []),
    ...(options.tracksWrites === true ? trackingRules() : []),
  ]);
}

/** What tracks the writes of a process is made in its place by init, which traces it; nobody else can. */
function trackingRules(): [string, Program][] {
  const program = [load(argument(1)), jump(JUMP_IF_EQUAL, TRACKING_MARK, 1, 0)];
  return [
    ["userfaultfd", [...program, ...REFUSED, ...TRACED]],
    ["ioctl", [load(argument(1)), ...refuseAny([...TERMINAL_REQUESTS, PAGEMAP_SCAN])]],
  ];
}

/** Init looks which pages were written, and sets the limits of copies that cannot do so themselves. */
export function initRules(options: FilterOptions): ReadonlyMap<string, Program> {
  const rules = new Map([...sessionRules(options), ...sharedRules()]);
  rules.delete("prlimit64");
  return rules;
}

export function engineRules(): ReadonlyMap<string, Program> {
  return new Map<string, Program>([
    [
      "clone",
      [
        load(argument(0)),
        jump(JUMP_IF_ANY_BIT, NAMESPACE_FLAGS, 1, 0),
        jump(JUMP_IF_ANY_BIT, CLONE_THREAD, 1, 0),
        ...REFUSED_ELSE_ALLOWED,
      ],
    ],
    ["clone3", UNKNOWN],
    ...sharedRules(),
    ["prlimit64", limitRule()],
  ]);
}

function sharedRules(): [string, Program][] {
  return [
    ["ioctl", [load(argument(1)), ...refuseAny(TERMINAL_REQUESTS)]],
    ["prctl", [load(argument(0)), ...refuseAny([PR_SET_SECCOMP, PR_SCHED_CORE])]],
    ["fcntl", [load(argument(1)), ...refuseAny([F_SETLEASE, F_NOTIFY])]],
  ];
}

/** Init and the processes that make heads have the session's uid: only the caller itself, as 0. */
function ownProcessRules(): [string, Program][] {
  const own = onlyIf([[0, 0]]);
  return [
    ["sched_setscheduler", own],
    ["sched_setparam", own],
    ["sched_setattr", own],
    ["sched_setaffinity", own],
    [
      "setpriority",
      onlyIf([
        [0, PRIO_PROCESS],
        [1, 0],
      ]),
    ],
    [
      "ioprio_set",
      onlyIf([
        [0, IOPRIO_WHO_PROCESS],
        [1, 0],
      ]),
    ],
    ["prlimit64", limitRule()],
  ];
}

/** Limits may be read of every process, and set of the caller. */
function limitRule(): Program {
  const zero = (left: number) => jump(JUMP_IF_EQUAL, 0, 0, left);
  return [
    load(argument(0)),
    jump(JUMP_IF_EQUAL, 0, 4, 0),
    load(argument(2)),
    zero(3),
    load(highHalf(2)),
    zero(1),
    ...ALLOWED,
    ...REFUSED,
  ];
}

/** Memory that is in no process's own count, for sessions that nothing but that count bounds. */
function uncountedMemoryRules(): [string, Program][] {
  const sharedAnonymous = [
    load(argument(3)),
    mask(MAP_SHARED | MAP_ANONYMOUS),
    jump(JUMP_IF_EQUAL, MAP_SHARED | MAP_ANONYMOUS, 0, 1),
    ...REFUSED_ELSE_ALLOWED,
  ];
  return [
    ["mmap", sharedAnonymous],
    // Programs have another way where the kernel does not know it.
    ["memfd_create", UNKNOWN],
    ["vmsplice", REFUSED],
    ["setsockopt", bufferRule()],
  ];
}

/** Setting buffer sizes succeeds without effect. */
function bufferRule(): Program {
  return [
    load(argument(1)),
    jump(JUMP_IF_EQUAL, SOL_SOCKET, 0, 4),
    load(argument(2)),
    jump(JUMP_IF_EQUAL, SO_SNDBUF, 1, 0),
    jump(JUMP_IF_EQUAL, SO_RCVBUF, 0, 1),
    failure(0),
    ...ALLOWED,
  ];
}

function watchRules(): [string, Program][] {
  return [
    ["inotify_init", REFUSED],
    ["inotify_init1", REFUSED],
  ];
}

function socketRule(): Program {
  const internet = [
    ...unlessOneOf([AF_INET, AF_INET6], EAFNOSUPPORT),
    load(argument(1)),
    mask(SOCKET_TYPE_MASK),
    ...unlessOneOf([SOCK_STREAM, SOCK_DGRAM, SOCK_RAW], ESOCKTNOSUPPORT),
    load(argument(2)),
    ...unlessOneOf(INTERNET_PROTOCOLS, EPROTONOSUPPORT),
  ];
  return [
    load(argument(0)),
    jump(JUMP_IF_EQUAL, AF_UNIX, internet.length, 0),
    ...internet,
    ...ALLOWED,
  ];
}

function deviceRule(modeArgument: number): Program {
  return [
    load(argument(modeArgument)),
    mask(FILE_TYPE_MASK),
    ...refuseAny([CHARACTER_DEVICE, BLOCK_DEVICE]),
  ];
}

/** Allows the call where each of these arguments has this value. */
function onlyIf(wanted: readonly (readonly [index: number, value: number])[]): Program {
  return [
    ...wanted.flatMap(([index, value]) => [load(argument(index)), ...unlessOneOf([value], EPERM)]),
    ...ALLOWED,
  ];
}

/** Fails with `errno` unless the loaded value is one of these. */
function unlessOneOf(values: readonly number[], errno: number): Program {
  return [
    ...values.map((value, index) => jump(JUMP_IF_EQUAL, value, values.length - index, 0)),
    failure(errno),
  ];
}

function refuseAny(values: readonly number[]): Program {
  return [
    ...values.map((value, index) =>
      jump(JUMP_IF_EQUAL, value, values.length - 1 - index, index === values.length - 1 ? 1 : 0),
    ),
    ...REFUSED_ELSE_ALLOWED,
  ];
}
