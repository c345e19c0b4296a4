import { execFile } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { openAgent } from "../cellar.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";
import { Unavailable } from "../unavailable.mjs";

const BYTES = 100_000_000;
const PAUSE_MS = 50;
const WARMUPS = 2;
const EVENTS = ["accepted a connection", "wrote 512 bytes", "retried the job", "closed the file"];
/** One per block of the file. */
const RARE = [
  "job ABC-1234 stopped: fatal, no space left",
  "found needle_17 in the third drawer",
  "Segmentation Fault in worker-3, core dumped",
  "checksum of block 7f3a does not match",
];
const BLOCK = Buffer.from(
  Array.from({ length: 50_000 }, (_, n) => {
    const text = n % 12_500 === 7_000 ? RARE[Math.floor(n / 12_500)] : EVENTS[(n * 7) % 4];
    return `2026-03-01 ${10 + (n % 14)}:${10 + (n % 50)} worker-${n % 9} ${text}\n`;
  }).join(""),
);
const PATTERNS = {
  literal: { pattern: "checksum of block 7f3a", capitals: true },
  structured: { pattern: "\\b[A-Z]{3}-\\d{4}\\b.*fatal", capitals: true },
  alternation: { pattern: "segmentation fault|out of memory|deadlock", capitals: false },
  line: { pattern: "^.*needle_.*$", capitals: true },
};

/** `grep()` over a context of 100 MB, timed inside, against ripgrep over the same bytes in a file. */
export const grep = {
  key: "grep_vs_ripgrep",
  target: { at_most: 1.5 },
  async run({ count, use }) {
    const file = use(new LogFile());
    const expected = Math.floor(BYTES / BLOCK.length);
    await ripgrep(PATTERNS.literal, file.path).catch((error) => {
      throw error.code === "ENOENT" ? new Unavailable("ripgrep is not installed") : error;
    });
    const repl = use(await openAgent({ context: { file: file.path } }));
    const turns = Object.fromEntries(Object.keys(PATTERNS).map((name) => [name, []]));
    const contenders = {};
    for (const [name, wanted] of Object.entries(PATTERNS)) {
      contenders[`${name} cellar`] = async () => {
        const began = performance.now();
        const taken = await search(repl, wanted, expected);
        turns[name].push(performance.now() - began);
        return taken;
      };
      contenders[`${name} rg`] = () =>
        time(async () => {
          const { stdout } = await ripgrep(wanted, file.path);
          check(stdout.split("\n").length - 1, expected);
        });
    }
    const samples = await interleave(contenders, {
      rounds: count(15, 3),
      warmups: WARMUPS,
      pause: PAUSE_MS,
    });
    const names = Object.keys(PATTERNS);
    const ratios = names.map(
      (name) => median(samples[`${name} cellar`]) / median(samples[`${name} rg`]),
    );
    return {
      ratio: median(ratios),
      rows: names.flatMap((name, index) => [
        {
          name: `Cellar, grep() over 100 MB, ${name}`,
          samples: samples[`${name} cellar`],
          note: `${PATTERNS[name].pattern}: ${ratios[index].toFixed(2)} times ripgrep`,
        },
        { name: `ripgrep including its start, ${name}`, samples: samples[`${name} rg`] },
        { name: `Cellar, the whole turn, ${name}`, samples: turns[name].slice(WARMUPS) },
      ]),
    };
  },
};

/** Milliseconds of the call, timed inside. */
async function search(repl, { pattern, capitals }, expected) {
  const rule = capitals ? ", ignore_case=False" : "";
  const { execution, calls } = await repl.turn(
    `hits = grep(r'${pattern}', context_lines=0${rule})\nlen(hits)`,
  );
  check(Number(execution.result?.["text/plain"]), expected);
  return calls[0].seconds * 1000;
}

function ripgrep({ pattern, capitals }, path) {
  const rule = capitals ? "-s" : "-i";
  return promisify(execFile)("rg", ["--no-config", "-n", rule, "-e", pattern, "--", path]);
}

function check(found, expected) {
  if (found !== expected) throw new Error(`found ${found} lines, expected ${expected}`);
}

class LogFile {
  #folder = mkdtempSync(join(tmpdir(), "cellar-bench-"));
  path = join(this.#folder, "log.txt");

  constructor() {
    const file = openSync(this.path, "w");
    for (let left = BYTES; left >= BLOCK.length; left -= BLOCK.length) writeSync(file, BLOCK);
    closeSync(file);
  }

  [Symbol.dispose]() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
