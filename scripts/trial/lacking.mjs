import { join } from "node:path";
import { same } from "./checks.mjs";
import { cells, demo, doctor, notebooks, packages, program, repl, server } from "./journey.mjs";
import { writeProgram } from "./package.mjs";

const DEAD_INDEX = {
  PIP_INDEX_URL: "http://127.0.0.1:9/simple",
  PIP_EXTRA_INDEX_URL: undefined,
  PIP_FIND_LINKS: undefined,
  PIP_CONFIG_FILE: "/dev/null",
  PIP_RETRIES: "0",
};
const PACKAGE_MANAGER = /(apt(-get)?|dnf|yum|zypper) install|pacman -S|apk add/;
const AGENT = `import { AgentRepl, shutdown } from "cellar";
const agent = await AgentRepl.open({ context: "one\\ntwo\\nthree" });
const { observation } = await agent.turn("grep('two')");
console.log(observation.includes("two") ? "found" : observation);
await shutdown();
`;
const STATE = `import { createSandbox, shutdown } from "cellar";
const sandbox = await createSandbox();
await sandbox.execute("x = 40");
console.log((await sandbox.execute("x + 2")).result?.["text/plain"]);
await shutdown();
`;

/** /tmp is mounted noexec. */
export async function noexecSteps(visit) {
  await visit.task("/tmp is noexec", async () => {
    const { stdout } = await visit.machine.run(["cat", "/proc/self/mounts"]);
    const isThere = stdout.split("\n").some((line) => / \/tmp tmpfs .*noexec/.test(line));
    return same(true, isThere);
  });
  await library(visit, "an agent's REPL", AGENT, /^found$/m);
  await visit.command("exec", ["exec", "-c", "6 * 7"], { stdout: /^42\n$/ });
  if (!visit.isShort) {
    await doctor(visit);
    await program(visit);
    await cells(visit);
    await packages(visit);
    await notebooks(visit);
    await server(visit);
    await demo(visit);
  }
  await visit.task("nothing is left in /tmp", async () => {
    const { stdout } = await visit.machine.run(["find", "/tmp", "-mindepth", "1"]);
    return same("", stdout.trim());
  });
}

/** Without Python: cells run on Pyodide, and commands that need CPython say so. */
export async function withoutPythonSteps(visit) {
  const { machine } = visit;
  await visit.program("no Python is found", ["sh", "-c", "command -v python3 python"], {
    code: "failure",
  });
  const where = "import sys; print(sys.platform); 6 * 7";
  await visit.command("exec runs on Pyodide", ["exec", "-c", where], {
    stdout: /^emscripten\n42\n$/,
  });
  await visit.command("doctor names Pyodide", ["doctor"], { stdout: [/pyodide/i, /\bL3/] });
  const needs = {
    code: "failure",
    stderr: [/CPython/, /Pyodide/],
    never: /\n\s+at |Connection closed/,
  };
  await visit.command("notebook needs CPython", ["notebook", "run", "trial", "-c", "1"], needs);
  if (visit.isShort) return;
  await repl(visit);
  await library(visit, "a sandbox keeps state", STATE, /^42$/m);
  await visit.task("doctor --json", async () => {
    const { stdout } = await machine.cellar(["doctor", "--json"]);
    const { ok, python } = JSON.parse(stdout);
    return same({ ok: true, python: null }, { ok, python });
  });
  await visit.command("mcp needs CPython", ["mcp"], { ...needs, code: "failure" });
  await visit.command("mcp --check needs CPython", ["mcp", "--check"], {
    ...needs,
    stderr: [],
    output: /CPython/,
  });
  await visit.command("install needs CPython", ["install", "six"], {
    code: "failure",
    stderr: /CPython|Python 3/,
  });
  await visit.command("demo", ["demo"], { stdout: /✓ state/, never: /✗/ });
}

/** Without bubblewrap: the error has a remedy, and nothing runs without walls unless requested. */
export async function withoutBubblewrapSteps(visit) {
  const refused = { code: 125, stderr: [/bubblewrap|bwrap/, PACKAGE_MANAGER] };
  await visit.program("no bwrap is found", ["sh", "-c", "command -v bwrap"], { code: "failure" });
  await visit.command("exec refuses", ["exec", "-c", "6 * 7"], refused);
  await visit.command("doctor says how to fix it", ["doctor"], {
    code: 1,
    stdout: [/bwrap/, PACKAGE_MANAGER],
  });
  if (visit.isShort) return;
  await visit.command("repl refuses", ["repl"], refused, { input: "6 * 7\n" });
  await visit.command("notebook refuses", ["notebook", "run", "trial", "-c", "1"], refused);
  await visit.command("mcp refuses", ["mcp"], refused);
  await visit.command("mcp --check says why", ["mcp", "--check"], {
    code: "failure",
    output: [/bubblewrap|bwrap/, PACKAGE_MANAGER],
  });
  await visit.command(
    "exec below the minimum, on request",
    ["exec", "--min-isolation", "L1", "-c", "6 * 7"],
    {
      stdout: /^42\n$/,
    },
  );
  await visit.command("demo lowers its minimum and says so", ["demo"], {
    stdout: [/L1|L0/, /✓ state/],
    never: /✗/,
  });
  await packagesOnly(visit);
}

/** Without a package index: only commands that need one fail, with a remedy. */
export async function withoutIndexSteps(visit) {
  const { machine, index } = visit;
  if (index.reason === undefined) {
    const [first] = index.names;
    await visit.command(
      "install while there is an index",
      ["install", first],
      { code: 0 },
      { limit: 400_000 },
    );
    await visit.command(
      "install of what is there: already there",
      ["install", first],
      { output: /already/i },
      { env: DEAD_INDEX },
    );
  } else visit.skip("install of what is there", index.reason);
  Object.assign(machine.env, DEAD_INDEX);
  for (const name of Object.keys(machine.env))
    if (machine.env[name] === undefined) delete machine.env[name];
  await visit.command("install says how to retry", ["install", "cowsay"], {
    code: "failure",
    stderr: [/127\.0\.0\.1:9|package index/i, /again|retry/i],
    never: /Traceback|\n\s+at /,
  });
  await program(visit);
  await doctor(visit);
  await cells(visit);
  await notebooks(visit);
  await server(visit);
  await demo(visit);
}

/** With a read-only home: only commands that store files ask for another folder. */
export async function readOnlyHomeSteps(visit) {
  const { machine } = visit;
  const probe = join(machine.home, "probe");
  await visit.program(
    "the home folder cannot be written",
    ["sh", "-c", 'echo > "$1"', "sh", probe],
    { code: "failure" },
  );
  await program(visit);
  await cells(visit);
  await visit.command("doctor names the notebooks' folder and --dir", ["doctor"], {
    stdout: [/\bL3/, /--dir/],
  });
  const raw = /\n\s+at |^E(ROFS|ACCES)/m;
  const refused = { code: "failure", stderr: /--dir/, never: raw };
  await visit.command("notebook names --dir", ["notebook", "run", "trial", "-c", "1"], refused);
  await visit.command("mcp names --dir", ["mcp"], refused);
  await visit.command("mcp --check names --dir", ["mcp", "--check"], {
    ...refused,
    stderr: [],
    output: /--dir/,
  });
  const elsewhere = ["--dir", machine.makeFolder(join(machine.folder, "books"))];
  await notebooks(visit, elsewhere);
  await server(visit, elsewhere);
  await demo(visit);
}

async function packagesOnly(visit) {
  if (visit.index.reason !== undefined) return visit.skip("install", visit.index.reason);
  const [name] = visit.index.names;
  await visit.command(
    "install needs no bubblewrap",
    ["install", name],
    { output: new RegExp(name) },
    { limit: 400_000 },
  );
}

async function library(visit, step, source, stdout) {
  const file = writeProgram(visit.machine, "library.mjs", source);
  await visit.program(step, ["node", file], { stdout });
}
