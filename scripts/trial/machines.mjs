import { chmodSync, existsSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { same } from "./checks.mjs";
import { notebooks, program, readme, wholeJourney } from "./journey.mjs";
import {
  noexecSteps,
  readOnlyHomeSteps,
  withoutBubblewrapSteps,
  withoutIndexSteps,
  withoutPythonSteps,
} from "./lacking.mjs";
import { nodeRuntimes, pythonRuntimes } from "./runtimes.mjs";

const SYSTEM_FOLDERS = ["/usr/local/bin", "/usr/bin", "/bin"];

/** The machines of the trial; `npm test` includes the `isShort` ones. */
export function allMachines({ python }) {
  return [
    { name: "plain", what: "nothing is missing", isShort: true, steps: plainSteps },
    {
      name: "noexec",
      what: "/tmp is mounted noexec",
      isShort: true,
      mounts: () => ({ noexec: ["/tmp"] }),
      steps: noexecSteps,
    },
    {
      name: "no-python",
      what: "without Python",
      isShort: true,
      mounts: ({ path }) => ({ hidden: programs(path, /^python\d?(\.\d+)?t?$/) }),
      steps: withoutPythonSteps,
    },
    {
      name: "no-bubblewrap",
      what: "without bubblewrap",
      isShort: true,
      mounts: ({ path }) => ({ hidden: programs(path, /^bwrap$/) }),
      steps: withoutBubblewrapSteps,
    },
    { name: "no-index", what: "no package index can be reached", steps: withoutIndexSteps },
    {
      name: "read-only-home",
      what: "HOME is read-only",
      mounts: ({ home }) => ({ readOnly: [home] }),
      // The same for this user if mounts are not possible.
      otherwise: ({ home }) => chmodSync(home, 0o555),
      steps: readOnlyHomeSteps,
    },
    {
      name: "blanks",
      what: "folders with spaces and é",
      folder: "un été à la mer",
      steps: wholeJourney,
    },
    ...nodeRuntimes().map((runtime) => ({ ...runtime, steps: nodeSteps })),
    ...pythonRuntimes(python).map((runtime) => ({ ...runtime, steps: pythonSteps })),
  ];
}

async function plainSteps(visit) {
  if (!visit.isShort) {
    await readme(visit);
    return await wholeJourney(visit);
  }
  await program(visit);
  await visit.command("doctor", ["doctor"], { stdout: [/isolation/i, /\bL3/], never: /✗/ });
  await notebooks(visit);
}

async function nodeSteps(visit) {
  const wanted = visit.machine.name.replace("node", "");
  await visit.task("this Node runs it", async () => {
    const { stdout } = await visit.machine.run(["node", "--version"]);
    return same(`v${wanted}`, stdout.split(".")[0]);
  });
  await wholeJourney(visit);
}

async function pythonSteps(visit) {
  const { python } = visit.machine.runtime;
  await visit.command("doctor names this Python", ["doctor"], {
    stdout: new RegExp(`python +${python}`),
  });
  const version = "import platform; print(platform.python_version())";
  await visit.command("exec runs on it", ["exec", "-c", version], {
    stdout: new RegExp(`^${python}$`, "m"),
  });
  await wholeJourney(visit);
}

/** Programs with this name on the PATH and in system folders. */
function programs(path, name) {
  const folders = [...path, ...SYSTEM_FOLDERS].filter((folder) => existsSync(folder));
  return [...new Set(folders.map((folder) => realpathSync(folder)))].flatMap((folder) =>
    readdirSync(folder)
      .filter((file) => name.test(file))
      .map((file) => join(folder, file)),
  );
}
