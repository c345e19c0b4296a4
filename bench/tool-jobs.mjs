import { chmodSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FILES = 40;
const PEOPLE = 1_200;
/** Of each manager; so few that one look at a person is cheap. */
const REPORTS = 2;
const CITIES = ["Lisbon", "Oslo", "Vienna"];
const SERVERS = { everything: [], files: ["FOLDER"], memory: [] };

/** The settings of unmodified servers whose tools work on what is in a folder. */
export function serversOn(folder) {
  const entries = Object.entries(SERVERS).map(([name, args]) => {
    const home = name === "files" ? "filesystem" : name;
    const path = `../node_modules/@modelcontextprotocol/server-${home}/dist/index.js`;
    const program = new URL(path, import.meta.url).pathname;
    const given = args.map((arg) => arg.replace("FOLDER", join(folder, "reports")));
    const env = { MEMORY_FILE_PATH: join(folder, "memory.jsonl") };
    return [name, { command: process.execPath, args: [program, ...given], env }];
  });
  return Object.fromEntries(entries);
}

/**
 * Writes what the jobs are about, and gives for each job what a good model does with one call a turn (`calls` asks
 * for one and gets its result), what it writes as cells, and the answer, which is known from what was written.
 * One call a turn goes the shortest way that the tools allow.
 */
export function toolJobs(folder) {
  const reports = join(folder, "reports");
  mkdirSync(reports);
  for (let n = 1; n <= FILES; n += 1) {
    const path = join(reports, nameOf(n));
    writeFileSync(path, `report ${n}\n`);
    chmodSync(path, isOpen(n) ? 0o666 : 0o644);
    const changed = new Date(Date.UTC(2026, 0, 1 + ((n * 7) % FILES)));
    utimesSync(path, changed, changed);
  }
  writeFileSync(join(folder, "memory.jsonl"), graph());
  return [newest(reports), writable(reports), head()];
}

/** Three calls, none of which needs another. */
function newest(reports) {
  const names = [3, 17, 29].map(nameOf);
  return {
    name: "3 calls: the newest of 3 files",
    question: `Which of ${names.join(", ")} in ${reports} was changed last?`,
    async calls(call) {
      const times = [];
      for (const name of names) {
        const info = await call("files.get_file_info", { path: join(reports, name) });
        times.push(Date.parse(fieldOf(info, "modified").replace(/\(.*/, "")));
      }
      return names[times.indexOf(Math.max(...times))];
    },
    cells: [
      'list_tools("file")',
      `for name in ${JSON.stringify(names)}:
    print(name, tools.files.get_file_info("${reports}/" + name))`,
      `FINAL("${nameOf(17)}")`,
    ],
    expected: nameOf(17),
  };
}

/** A listing, and a call for each of its files. */
function writable(reports) {
  const expected = Array.from({ length: FILES }, (_, n) => n + 1)
    .filter(isOpen)
    .map(nameOf);
  return {
    name: `${FILES + 1} calls: what anybody may write`,
    question: `Which files in ${reports} may be written by anybody? Give a list of their names.`,
    async calls(call) {
      const listing = await call("files.list_directory", { path: reports });
      const found = [];
      for (const [, name] of listing.matchAll(/^\[FILE\] (.+)$/gm)) {
        const info = await call("files.get_file_info", { path: join(reports, name) });
        if (/[2367]$/.test(fieldOf(info, "permissions"))) found.push(name);
      }
      return found;
    },
    cells: [
      'list_tools("file")',
      `folder = "${reports}"
listing = tools.files.list_directory(folder)["content"]
print(listing[:100])
names = [line.split(" ", 1)[1] for line in listing.splitlines()]
tools.files.get_file_info(folder + "/" + names[0])`,
      `import re
infos = {name: tools.files.get_file_info(folder + "/" + name)["content"] for name in names}
FINAL([name for name in names if int(re.search(r"permissions: (\\d+)", infos[name])[1][-1]) & 2])`,
    ],
    expected,
  };
}

/** Each call needs the one before it. */
function head() {
  const start = PEOPLE - 1;
  let boss = start;
  let calls = 1;
  for (; managerOf(boss) !== undefined; calls += 1) boss = managerOf(boss);
  return {
    name: `${calls} calls: up a chain of people`,
    question: `In the knowledge graph: follow "reports to" from ${personOf(start)} up to the head. In which city does the head work?`,
    async calls(call) {
      let name = personOf(start);
      for (;;) {
        const { entities, relations } = JSON.parse(
          await call("memory.open_nodes", { names: [name] }),
        );
        const next = relations.find(({ from }) => from === name)?.to;
        if (next === undefined) return entities[0].observations[0].replace("works in ", "");
        name = next;
      }
    },
    cells: [
      'list_tools("graph")',
      `graph = tools.memory.read_graph()
print(graph["entities"][0], graph["relations"][0])`,
      `above = {one["from"]: one["to"] for one in graph["relations"] if one["relationType"] == "reports to"}
name = "${personOf(start)}"
while name in above:
    name = above[name]
[found] = [one["observations"][0] for one in graph["entities"] if one["name"] == name]
FINAL(found.replace("works in ", ""))`,
    ],
    expected: cityOf(boss),
  };
}

function nameOf(n) {
  return `report-${String(n).padStart(2, "0")}.txt`;
}

function isOpen(n) {
  return n % 13 === 0;
}

function personOf(n) {
  return `person-${n}`;
}

function cityOf(n) {
  return CITIES[n % CITIES.length];
}

/** Three of them have none. */
function managerOf(n) {
  return n < CITIES.length ? undefined : Math.floor((n - CITIES.length) / REPORTS);
}

function fieldOf(info, name) {
  return new RegExp(`^${name}: (.+)$`, "m").exec(info)?.[1] ?? "";
}

/** As the memory server keeps it. */
function graph() {
  const people = Array.from({ length: PEOPLE }, (_, n) => ({
    type: "entity",
    name: personOf(n),
    entityType: "person",
    observations: [`works in ${cityOf(n)}`],
  }));
  const relations = people.slice(CITIES.length).map(({ name }, place) => ({
    type: "relation",
    from: name,
    to: personOf(managerOf(place + CITIES.length)),
    relationType: "reports to",
  }));
  return [...people, ...relations].map((one) => JSON.stringify(one)).join("\n");
}
