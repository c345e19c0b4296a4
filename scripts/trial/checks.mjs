const SHOWN = 2_000;

/** Expected and actual results of each step on each machine. */
export class Checks {
  results = [];
  #print;

  constructor(print) {
    this.#print = print;
  }

  /** A task returns undefined on success, else `{ expected, got }` or `{ skip }`. */
  async check(machine, step, task) {
    const started = performance.now();
    let difference;
    try {
      difference = await task();
    } catch (error) {
      difference = { expected: "no error", got: String(error?.message ?? error) };
    }
    const ms = Math.round(performance.now() - started);
    if (difference?.skip !== undefined) return this.skip(machine, step, difference.skip);
    const status = difference === undefined ? "passed" : "failed";
    this.results.push({ machine, step, status, ...difference, ms });
    if (difference === undefined) this.#print(`✓ ${machine} · ${step}`);
    else {
      this.#print(`✗ ${machine} · ${step}`);
      this.#print(`    expected ${difference.expected}`);
      this.#print(`    got      ${indented(difference.got)}`);
    }
    return difference === undefined;
  }

  skip(machine, step, reason) {
    this.results.push({ machine, step, status: "skipped", reason, ms: 0 });
    this.#print(`- ${machine} · ${step}: skipped, ${reason}`);
    return false;
  }

  count(status, machine) {
    const all = this.results.filter((one) => one.status === status);
    return machine === undefined ? all.length : all.filter((one) => one.machine === machine).length;
  }
}

/** Compares a run with the expectation: `code` is a number, "failure" or undefined for 0. */
export function compare(result, { code = 0, stdout = [], stderr = [], output = [], never = [] }) {
  const { isLate, limit } = result;
  const all = `${result.stdout}${result.stderr}`;
  const texts = { stdout: result.stdout, stderr: result.stderr, output: all };
  const wanted = { stdout, stderr, output };
  const isExpectedCode = code === "failure" ? (result.code ?? 0) > 0 : result.code === code;
  const missing = Object.entries(wanted).flatMap(([name, patterns]) =>
    [patterns].flat().flatMap((one) => (one.test(texts[name]) ? [] : [`${name} with ${one}`])),
  );
  const unwanted = [never].flat().flatMap((one) => (one.test(all) ? [`nothing with ${one}`] : []));
  if (!isLate && isExpectedCode && missing.length + unwanted.length === 0) return undefined;
  const words = code === "failure" ? "an exit code above 0" : `exit code ${code}`;
  const end = isLate ? `no end within ${limit / 1000} s` : `exit code ${result.code}`;
  const said = [result.stdout, result.stderr]
    .map((text) => text.trim())
    .filter((text) => text !== "");
  return {
    expected: [words, ...missing, ...unwanted].join(", "),
    got: ends([end, ...said].join("\n")),
  };
}

/** The same for a value. */
export function same(expected, got) {
  const [one, other] = [expected, got].map((value) => JSON.stringify(value));
  return one === other ? undefined : { expected: one, got: other ?? "nothing" };
}

/** Both ends of a long text: either may matter. */
function ends(text) {
  if (text.length <= SHOWN) return text;
  return `${text.slice(0, SHOWN / 2)}\n…\n${text.slice(-SHOWN / 2)}`;
}

function indented(text) {
  return String(text).split("\n").join("\n             ");
}
