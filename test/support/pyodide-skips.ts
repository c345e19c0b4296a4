/** Tests of the conformance suite that ask for what WebAssembly has not, each with the reason. */
export const NOT_IN_WEBASSEMBLY: Readonly<Record<string, string>> = {
  "captures C code and subprocesses in order with print":
    "WebAssembly has no subprocesses; the rest of this is tested for Pyodide by itself",
  "runs shell lines and explains package installs":
    "WebAssembly has no shell; the rest of this is tested for Pyodide by itself",
  "questions from threads are answered too": "WebAssembly has no threads",
  "are called from threads too, and share the limit of questions": "WebAssembly has no threads",
  "a question of an ended cell is refused": "it asks in a thread, and WebAssembly has none",
};

/** As above, for Pyodide in the caller's own thread, which stands still while a cell runs. */
export const NOT_IN_ONE_THREAD: Readonly<Record<string, string>> = {
  ...NOT_IN_WEBASSEMBLY,
  "shows unfinished lines and redrawn lines while the cell still runs":
    "the thread that would show them runs the cell",
  "cancels a running cell, and a cell that has not begun":
    "cancel() does nothing here, as specified",
  "cancel aborts the questions under way, and the session goes on":
    "cancel() does nothing here, as specified",
  "are told of a cancel, and the session goes on": "cancel() does nothing here, as specified",
  "bounds output while it is produced, with head, tail and a notice":
    "it measures the memory of this process, in which Python itself lies; the bounds are tested for it",
  "cancels at any moment": "cancel() does nothing here, as specified",
  "takes an AbortSignal for one cell": "no signal can be raised while the cell holds the thread",
  "destroy does not wait for a question that hangs":
    "the thread that would destroy it is the one that hangs, until the time limit",
};
