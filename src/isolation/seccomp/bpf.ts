const LOAD = 0x20;
const AND = 0x54;
const RETURN = 0x06;

export const JUMP_IF_EQUAL = 0x15;
export const JUMP_IF_AT_LEAST = 0x35;
export const JUMP_IF_ANY_BIT = 0x45;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const TRACE = 0x7ff00000;
const ERRNO = 0x00050000;

const EPERM = 1;
const ENOSYS = 38;

interface Instruction {
  code: number;
  ifTrue: number;
  ifFalse: number;
  operand: number;
}

/** Instructions of a classic BPF filter, in order. */
export type Program = readonly Instruction[];

export const ALLOWED: Program = [result(ALLOW)];
export const REFUSED: Program = [failure(EPERM)];
export const KILLED: Program = [result(KILL_PROCESS)];
/** As the process that traces the caller decides; without one as if the kernel did not have the call. */
export const TRACED: Program = [result(TRACE)];
/** As if the kernel did not have the call. */
export const UNKNOWN: Program = [failure(ENOSYS)];

/** The low half of a 64-bit argument of the call; of most arguments the kernel looks at no more. */
export function argument(index: number): number {
  return 16 + index * 8;
}

export function highHalf(index: number): number {
  return argument(index) + 4;
}

export function load(offset: number): Instruction {
  return { code: LOAD, ifTrue: 0, ifFalse: 0, operand: offset };
}

export function mask(bits: number): Instruction {
  return { code: AND, ifTrue: 0, ifFalse: 0, operand: bits };
}

export function jump(code: number, operand: number, ifTrue: number, ifFalse: number): Instruction {
  return { code, ifTrue, ifFalse, operand };
}

export function failure(errno: number): Instruction {
  return result(ERRNO | errno);
}

function result(action: number): Instruction {
  return { code: RETURN, ifTrue: 0, ifFalse: 0, operand: action };
}

/** Little-endian `sock_filter` records, as the kernel takes them. */
export function encode(program: Program): Buffer {
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
