/** What a start is spared: compiled code of Pyodide's own script, and Python's memory. */
export interface Remembered {
  readonly code: Uint8Array;
  readonly memory: Uint8Array;
}

/** Python's memory is read as words, so everything lies at multiples of this. */
const ALIGNMENT = 16;

export function pack({ code, memory }: Remembered): Uint8Array {
  const start = ALIGNMENT + aligned(code.length);
  const whole = new Uint8Array(start + memory.length);
  new DataView(whole.buffer).setUint32(0, code.length);
  whole.set(code, ALIGNMENT);
  whole.set(memory, start);
  return whole;
}

export function unpack(whole: Uint8Array): Remembered {
  if (whole.length < ALIGNMENT) throw new Error("the memory to start from is cut off");
  const size = new DataView(whole.buffer, whole.byteOffset).getUint32(0);
  return {
    code: whole.subarray(ALIGNMENT, ALIGNMENT + size),
    memory: whole.subarray(ALIGNMENT + aligned(size)),
  };
}

function aligned(size: number): number {
  return Math.ceil(size / ALIGNMENT) * ALIGNMENT;
}
