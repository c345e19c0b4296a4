/** What the two threads of a session's process share. */
const SIGNAL = 0;
const WANTED_STEP = 1;
const SEEN_STEP = 2;
const HAS_PARTIAL_LINE = 3;
const CELLS = 4;

/** SIGRTMAX: the host's own, for SIGINT belongs to the cells. */
export const HOST_SIGNAL = 64;
/** Asks the runner to send its output. */
export const SIGPROF = 27;

/** Signals from the thread that hears the host to the one that runs Python. */
export class Signals {
  readonly memory: SharedArrayBuffer;
  /** Python reads and clears the first of these between its own instructions. */
  readonly cells: Int32Array;

  constructor(memory = new SharedArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.cells = new Int32Array(memory);
  }

  /** Asks for the interrupt of a step. */
  interrupt(step: number): void {
    Atomics.store(this.cells, WANTED_STEP, step);
    this.#raise(HOST_SIGNAL);
  }

  /** Python takes a signal by reading and then clearing, and may so clear a newer one unread. */
  repeatUnseen(): boolean {
    const wanted = Atomics.load(this.cells, WANTED_STEP);
    if (Atomics.load(this.cells, SEEN_STEP) === wanted) return false;
    this.#raise(HOST_SIGNAL);
    return true;
  }

  /** Lets the runner send a line that stays unfinished. */
  tick(): void {
    if (Atomics.load(this.cells, HAS_PARTIAL_LINE) === 0) return;
    this.remind();
  }

  /** An interrupt is never overwritten by this. */
  remind(): void {
    Atomics.compareExchange(this.cells, SIGNAL, 0, SIGPROF);
    Atomics.notify(this.cells, SIGNAL);
  }

  wantedStep(): number {
    return Atomics.load(this.cells, WANTED_STEP);
  }

  see(): void {
    Atomics.store(this.cells, SEEN_STEP, Atomics.load(this.cells, WANTED_STEP));
  }

  setPartialLine(isThere: boolean): void {
    Atomics.store(this.cells, HAS_PARTIAL_LINE, Number(isThere));
  }

  /** Waits for a signal and takes it; 0 after the timeout. */
  wait(milliseconds: number): number {
    Atomics.wait(this.cells, SIGNAL, 0, milliseconds);
    return Atomics.exchange(this.cells, SIGNAL, 0);
  }

  #raise(signal: number): void {
    Atomics.store(this.cells, SIGNAL, signal);
    Atomics.notify(this.cells, SIGNAL);
  }
}
