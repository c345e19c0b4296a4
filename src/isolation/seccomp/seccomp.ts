import {
  ALLOWED,
  encode,
  JUMP_IF_AT_LEAST,
  JUMP_IF_EQUAL,
  jump,
  KILLED,
  load,
  type Program,
  REFUSED,
  UNKNOWN,
} from "./bpf.js";
import { engineRules, type FilterOptions, initRules, sessionRules } from "./rules.js";
import {
  ALLOWED_CALLS,
  type Architecture,
  ENGINE_CALLS,
  INIT_CALLS,
  syscallNumbers,
} from "./syscalls.js";

export type { FilterOptions } from "./rules.js";
export type { Architecture } from "./syscalls.js";

const NUMBER_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;

const AUDIT_ARCHITECTURE: Readonly<Record<Architecture, number>> = {
  x64: 0xc000003e,
  arm64: 0xc00000b7,
};
const X32_BIT = 0x40000000;

/** From this number up to the next segment's, the same verdict holds. */
interface Segment {
  first: number;
  verdict: Program;
}

/** The filter of a session: a classic BPF program of little-endian `sock_filter` records. */
export function seccompProgram(architecture: Architecture, options: FilterOptions = {}): Buffer {
  return filter(architecture, verdicts(architecture, ALLOWED_CALLS, sessionRules(options)));
}

/** The filter of a session's init where it makes checkpoints of the others. It runs no code of users. */
export function initSeccompProgram(architecture: Architecture, options: FilterOptions): Buffer {
  return filter(architecture, verdicts(architecture, INIT_CALLS, initRules(options)));
}

/** The filter of a process that holds a JavaScript engine: no sockets, no other process. */
export function engineSeccompProgram(architecture: Architecture): Buffer {
  return filter(architecture, verdicts(architecture, ENGINE_CALLS, engineRules()));
}

function filter(architecture: Architecture, byNumber: ReadonlyMap<number, Program>): Buffer {
  return encode([
    load(ARCHITECTURE_OFFSET),
    jump(JUMP_IF_EQUAL, AUDIT_ARCHITECTURE[architecture], 1, 0),
    ...KILLED,
    load(NUMBER_OFFSET),
    ...(architecture === "x64" ? [jump(JUMP_IF_AT_LEAST, X32_BIT, 0, 1), ...KILLED] : []),
    ...searchTree(segments(byNumber)),
  ]);
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
