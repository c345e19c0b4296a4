const MARKS = { ok: "✓", note: "–", failed: "✗" };

/** Prints one line for each step and remembers whether something essential failed. */
export function createReport({ quiet }) {
  const print = (status, name, text, remedy) => {
    if (quiet && status === "ok") return;
    const hint = remedy === undefined ? "" : ` (remedy: ${remedy})`;
    console.log(`${MARKS[status]} ${name}: ${text}${hint}`);
  };
  return {
    failed: false,
    ok(name, text) {
      print("ok", name, text);
    },
    note(name, text, remedy) {
      print("note", name, text, remedy);
    },
    /** Something is missing, and the product still works without it. */
    missing(name, text, remedy) {
      print("failed", name, text, remedy);
    },
    /** Nothing works without this one. */
    fatal(name, text, remedy) {
      this.failed = true;
      print("failed", name, text, remedy);
    },
    progress(text) {
      if (!quiet) console.log(`  ${text}`);
    },
  };
}
