const LOG_MS = 20_000;
const LIVE_MS = 1_000;
const CLEAR = "\r\u001b[K";
const MARKS = { ok: "✓", note: "–", failed: "✗" };

/** Prints one line per step and remembers whether something essential failed. */
export function createReport({ quiet, live = process.stdout.isTTY === true }) {
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
    /** Something is missing, but Cellar works without it. */
    missing(name, text, remedy) {
      print("failed", name, text, remedy);
    },
    /** Cellar does not work without it. */
    fatal(name, text, remedy) {
      this.failed = true;
      print("failed", name, text, remedy);
    },
    progress(text) {
      if (!quiet) console.log(`  ${text}`);
    },
    /** Shows progress of work that may take minutes, until disposed of. */
    working(text) {
      this.progress(text);
      const { stdout } = process;
      const started = Date.now();
      let last = "";
      const show = () => {
        const seconds = Math.round((Date.now() - started) / 1000);
        const line = `  still at work after ${seconds} s${last === "" ? "" : `: ${last}`}`;
        if (live) stdout.write(`${CLEAR}${line.slice(0, (stdout.columns || 80) - 1)}`);
        else console.log(line);
      };
      const timer = quiet ? undefined : setInterval(show, live ? LIVE_MS : LOG_MS);
      return {
        onText(said) {
          const lines = said.split("\n").map((line) => line.trim());
          // Strip control characters of progress bars.
          last = (lines.findLast((line) => line !== "") ?? last).replace(/\p{Cc}/gu, "");
        },
        end() {
          clearInterval(timer);
          if (timer !== undefined && live) stdout.write(CLEAR);
        },
      };
    },
  };
}
