import { ALLOWED_CALLS, type Architecture, ENGINE_CALLS, syscallNumbers } from "./syscalls.js";

export type { Architecture } from "./syscalls.js";

const LOAD = 0x20;
const AND = 0x54;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const JUMP_IF_ANY_BIT = 0x45;
const RETURN = 0x06;

const NUMBER_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const ERRNO = 0x00050000;

const EPERM = 1;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const ESOCKTNOSUPPORT = 94;
const EAFNOSUPPORT = 97;

const AUDIT_ARCHITECTURE: Readonly<Record<Architecture, number>> = {
  x64: 0xc000003e,
  arm64: 0xc00000b7,
};
const X32_BIT = 0x40000000;

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
const PR_SET_SECCOMP = 22;
/** PER_LINUX, ADDR_NO_RANDOMIZE (sanitizers ask for it) and the query. */
const PERSONALITIES = [0, 0x0040000, 0xffffffff];

const FILE_TYPE_MASK = 0xf000;
const CHARACTER_DEVICE = 0x2000;
const BLOCK_DEVICE = 0x6000;

interface Instruction {
  code: number;
  ifTrue: number;
  ifFalse: number;
  operand: number;
}

type Program = readonly Instruction[];

/** From this number up to the next segment's, the same verdict holds. */
interface Segment {
  first: number;
  verdict: Program;
}

const ALLOWED: Program = [result(ALLOW)];
const REFUSED: Program = [failure(EPERM)];
const REFUSED_ELSE_ALLOWED: Program = [...REFUSED, ...ALLOWED];
const UNKNOWN: Program = [failure(ENOSYS)];

/** The filter of a session: a classic BPF program of little-endian `sock_filter` records. */
export function seccompProgram(architecture: Architecture): Buffer {
  return filter(architecture, verdicts(architecture, ALLOWED_CALLS, conditionalCalls()));
}

/** The filter of a process that holds a JavaScript engine: no sockets, no other process. */
export function engineSeccompProgram(architecture: Architecture): Buffer {
  return filter(architecture, verdicts(architecture, ENGINE_CALLS, engineConditions()));
}

function filter(architecture: Architecture, byNumber: ReadonlyMap<number, Program>): Buffer {
  const program = [
    load(ARCHITECTURE_OFFSET),
    jump(JUMP_IF_EQUAL, AUDIT_ARCHITECTURE[architecture], 1, 0),
    result(KILL_PROCESS),
    load(NUMBER_OFFSET),
    ...(architecture === "x64"
      ? [jump(JUMP_IF_AT_LEAST, X32_BIT, 0, 1), result(KILL_PROCESS)]
      : []),
    ...searchTree(segments(byNumber)),
  ];
  return encode(program);
}

function verdicts(
  architecture: Architecture,
  calls: readonly string[],
  conditional: ReadonlyMap<string, Program>,
): ReadonlyMap<number, Program> {
  const allowed = new Set(calls);
  const byNumber = new Map<number, Program>();
  for (const [name, number] of syscallNumbers(architecture)) {
    byNumber.set(number, conditional.get(name) ?? (allowed.has(name) ? ALLOWED : REFUSED));
  }
  return byNumber;
}

function conditionalCalls(): ReadonlyMap<string, Program> {
  const socket = socketRule();
  return new Map<string, Program>([
    [
      "clone",
      [load(argument(0)), jump(JUMP_IF_ANY_BIT, NAMESPACE_FLAGS, 0, 1), ...REFUSED_ELSE_ALLOWED],
    ],
    // Its flags lie behind a pointer that no filter can follow; libc falls back to clone.
    ["clone3", UNKNOWN],
    ["socket", socket],
    ["socketpair", socket],
    ["ioctl", [load(argument(1)), ...refuseAny([TIOCSTI, TIOCLINUX])]],
    ["prctl", [load(argument(0)), ...refuseAny([PR_SET_SECCOMP])]],
    ["personality", [load(argument(0)), ...unlessOneOf(PERSONALITIES, EPERM), ...ALLOWED]],
    ["mknod", deviceRule(1)],
    ["mknodat", deviceRule(2)],
  ]);
}

function engineConditions(): ReadonlyMap<string, Program> {
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
    ["ioctl", [load(argument(1)), ...refuseAny([TIOCSTI, TIOCLINUX])]],
    ["prctl", [load(argument(0)), ...refuseAny([PR_SET_SECCOMP])]],
  ]);
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

/** Fails with `errno` unless the loaded value is one of these; else goes on behind the last. */
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

function segments(byNumber: ReadonlyMap<number, Program>): Segment[] {
  const end = Math.max(...byNumber.keys()) + 1;
  const found: Segment[] = [];
  for (let number = 0; number <= end; number += 1) {
    const verdict = byNumber.get(number) ?? UNKNOWN;
    if (found.at(-1)?.verdict !== verdict) {
      found.push({ first: number, verdict });
    }
  }
  return found;
}

function searchTree(parts: readonly Segment[]): Program {
  const middle = parts[parts.length >> 1];
  if (middle === undefined || parts.length === 1) {
    return middle?.verdict ?? UNKNOWN;
  }
  const below = searchTree(parts.slice(0, parts.length >> 1));
  const above = searchTree(parts.slice(parts.length >> 1));
  return [jump(JUMP_IF_AT_LEAST, middle.first, below.length, 0), ...below, ...above];
}

/** The low half of a 64-bit argument: the kernel looks at no more of those tested here. */
function argument(index: number): number {
  return 16 + index * 8;
}

function load(offset: number): Instruction {
  return { code: LOAD, ifTrue: 0, ifFalse: 0, operand: offset };
}

function mask(bits: number): Instruction {
  return { code: AND, ifTrue: 0, ifFalse: 0, operand: bits };
}

function jump(code: number, operand: number, ifTrue: number, ifFalse: number): Instruction {
  return { code, ifTrue, ifFalse, operand };
}

function result(action: number): Instruction {
  return { code: RETURN, ifTrue: 0, ifFalse: 0, operand: action };
}

function failure(errno: number): Instruction {
  return result(ERRNO | errno);
}

function encode(program: Program): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, instruction] of program.entries()) {
    const at = index * 8;
    bytes.writeUInt16LE(instruction.code, at);
    bytes.writeUInt8(instruction.ifTrue, at + 2);
    bytes.writeUInt8(instruction.ifFalse, at + 3);
    bytes.writeUInt32LE(instruction.operand, at + 4);
  }
  return bytes;
}
