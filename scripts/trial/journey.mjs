import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tryServer } from "./agent.mjs";
import { same } from "./checks.mjs";
import { firstScreen, HEAVIEST_MB, weightMb, writeProgram } from "./package.mjs";

const PIP_MS = 400_000;

/** Everything that works on a complete machine. */
export async function wholeJourney(visit) {
  await program(visit);
  await doctor(visit);
  await cells(visit);
  await packages(visit);
  await notebooks(visit);
  await server(visit);
  await demo(visit);
}

export async function weight(visit) {
  const folder = join(visit.machine.project, "node_modules");
  const mb = weightMb(folder);
  await visit.task(`installed size at most ${HEAVIEST_MB} MB`, async () =>
    mb <= HEAVIEST_MB ? undefined : { expected: `at most ${HEAVIEST_MB} MB`, got: `${mb} MB` },
  );
  return mb;
}

/** The first commands of README, as a reader types them. */
export async function readme(visit) {
  await visit.program("npm ls finds nothing missing", ["npm", "ls", "--all"], { code: 0 });
  const { commands } = firstScreen(visit.machine.project);
  await visit.task("README opens with commands for a project", async () =>
    commands.length > 0 ? undefined : { expected: "lines with npx cellar", got: "none" },
  );
  for (const line of commands) {
    const needsIndex = /^npx cellar install/.test(line);
    const step = `README: ${line.replace(/\s+#.*/, "")}`;
    if (needsIndex && visit.index.reason !== undefined) visit.skip(step, visit.index.reason);
    else await visit.program(step, ["sh", "-c", line], { code: 0 }, { limit: PIP_MS });
  }
}

/** README's first program prints what README says; the level is this machine's. */
export async function program(visit) {
  const { machine } = visit;
  await visit.task("README's first program prints what it says", async () => {
    const { program, prints } = firstScreen(machine.project);
    if (program === undefined || prints === undefined) {
      return { expected: "a ts block and a text block in README", got: "none" };
    }
    writeProgram(machine, "first.mjs", program);
    const { code, stdout, stderr } = await machine.run(["node", "first.mjs"]);
    const plain = (text) => text.trim().replace(/\bL3-?(?!\w)/g, "L3");
    return same(
      { code: 0, stdout: plain(prints), stderr: "" },
      { code, stdout: plain(stdout), stderr },
    );
  });
}

export async function doctor(visit) {
  await visit.command("doctor", ["doctor"], { stdout: [/isolation/i, /\bL3/], never: /✗/ });
  await visit.task("doctor --json", async () => {
    const { stdout } = await visit.machine.cellar(["doctor", "--json"]);
    const { ok, error } = JSON.parse(stdout);
    return same({ ok: true, error: null }, { ok, error });
  });
}

export async function cells(visit) {
  const say = "print('hi'); 6 * 7";
  await visit.command("exec prints output and value", ["exec", "-c", say], {
    stdout: /^hi\n42\n$/,
  });
  await visit.command("exec passes the exit code on", ["exec", "-c", "import sys; sys.exit(3)"], {
    code: 3,
  });
  await visit.command("exec: a traceback is exit code 1", ["exec", "-c", "1 / 0"], {
    code: 1,
    stderr: /ZeroDivisionError/,
  });
  await visit.command("exec: a wrong option is exit code 2", ["exec", "--nope"], {
    code: 2,
    stderr: /--nope/,
  });
  await visit.command(
    "exec without network",
    ["exec", "-c", "import socket; socket.create_connection(('1.1.1.1', 53), 2)"],
    {
      code: 1,
      stderr: /Error/,
    },
  );
  await repl(visit);
}

export async function repl(visit) {
  const input = "x = 40\nx + 2\n";
  await visit.command("repl answers from a pipe", ["repl"], { stdout: /\b42\b/ }, { input });
}

/** Packages from `cellar install` survive a new node_modules. */
export async function packages(visit) {
  const { machine, index } = visit;
  const steps = "install, npm ci, import";
  if (index.reason !== undefined) return visit.skip(steps, index.reason);
  const name = await absentOne(visit);
  if (name === undefined) return visit.skip(steps, `all are here: ${index.names.join(", ")}`);
  const uses = ["exec", "-c", `import ${name}; ${name}.__name__`];
  const before = await visit.command("import before install says how to install", uses, {
    code: 1,
    output: [/ModuleNotFoundError/, /cellar install/],
  });
  if (before === undefined) return;
  await visit.command(
    `install ${name}`,
    ["install", name],
    { output: new RegExp(name) },
    { limit: PIP_MS },
  );
  await visit.command("import after install", uses, { stdout: new RegExp(name) });
  await visit.task("install --json: the environment is not in node_modules", async () => {
    const { stdout, stderr } = await machine.cellar(["install", name, "--json"], { limit: PIP_MS });
    const { environment } = JSON.parse(stdout || stderr);
    const isElsewhere = typeof environment === "string" && !environment.includes("node_modules");
    return isElsewhere
      ? undefined
      : { expected: "a folder outside node_modules", got: String(environment) };
  });
  await visit.command(`install ${name} again: already there`, ["install", name], {
    output: /already/i,
  });
  await visit.program("npm ci", ["npm", "ci"], { code: 0 }, { limit: PIP_MS });
  await visit.command("import after npm ci", uses, { stdout: new RegExp(name) });
}

/** A package that cells cannot import here yet. */
async function absentOne({ machine, index }) {
  const code = `import importlib.util as u
for name in ${JSON.stringify(index.names)}:
    if u.find_spec(name) is None: print(name)`;
  const { stdout } = await machine.cellar(["exec", "-c", code]);
  return stdout.split("\n").find((name) => index.names.includes(name));
}

export async function notebooks(visit, args = []) {
  const { machine } = visit;
  const say = (code) => ["notebook", "run", "sums", "-c", code, ...args];
  await visit.command("notebook: a cell", say("x = 20"), { never: /cellar:/ });
  await visit.command("notebook: its variable in another process", say("x + 22"), {
    stdout: /\b42\b/,
  });
  if (visit.isShort) return;
  await visit.command("notebook show", ["notebook", "show", "sums", ...args], {
    stdout: /x \+ 22/,
  });
  const file = join(machine.project, "numbers.csv");
  writeFileSync(file, "a,b\n1,2\n", { mode: 0o644 });
  await visit.command("notebook put", ["notebook", "put", "sums", "numbers.csv", ...args], {
    code: 0,
  });
  await visit.command("notebook: the file is there", say("open('numbers.csv').read()"), {
    stdout: /a,b/,
  });
  await visit.command(
    "notebook: a file is written",
    say("open('out.txt', 'w').write('from a cell')"),
    { code: 0 },
  );
  await visit.command("notebook get", ["notebook", "get", "sums", "out.txt", ...args], {
    code: 0,
  });
  await visit.task("notebook get: the file is here", async () => {
    const path = join(machine.project, "out.txt");
    return same("from a cell", existsSync(path) ? readFileSync(path, "utf8") : "no file");
  });
  const remove = ["notebook", "remove", "sums", ...args];
  await visit.command("notebook remove asks first", remove, { code: 2, stderr: /--yes/ });
  await visit.command("notebook remove --yes", [...remove, "--yes"], { code: 0 });
  await visit.command("notebook list: it is gone", ["notebook", "list", ...args], {
    never: /\bsums\b/,
  });
}

export async function server(visit, args = []) {
  await visit.command("mcp --check", ["mcp", "--check", ...args], {
    stdout: [/42/, /mcpServers/],
    never: /✗/,
  });
  await tryServer(visit, args);
}

export async function demo(visit) {
  await visit.command("demo", ["demo"], { stdout: [/✓ state/, /✓ rlm/], never: /✗/ });
}
