import { parseArgs } from "node:util";

export const HELP = `npm run trial -- [options]

Installs the package as a new user would, on machines that lack something, and checks its output.

  --only NAME,…    only these machines; --list names them
  --python PATH    also with this Python; may be repeated
  --short          only the steps specific to each machine, as in npm test
  --uid N          as root: the ordinary user to run as; default: nobody
  --json FILE      write the results to this file
  --keep           keep the folder of the trial, and print its path
  --list           list the machines and exit
  -h, --help       show this help`;

const OPTIONS = {
  only: { type: "string" },
  python: { type: "string", multiple: true },
  short: { type: "boolean" },
  uid: { type: "string" },
  json: { type: "string" },
  keep: { type: "boolean" },
  list: { type: "boolean" },
  help: { type: "boolean", short: "h" },
};

/** The options, or `{ problem }`. */
export function parseTrialArguments(argv) {
  try {
    const { values } = parseArgs({ args: argv, options: OPTIONS, strict: true });
    if (values.uid !== undefined && !/^[1-9]\d{0,8}$/.test(values.uid)) {
      return { problem: `--uid ${values.uid}: expected a number above 0` };
    }
    return {
      ...values,
      only: values.only?.split(",").filter((name) => name !== ""),
      python: values.python ?? [],
      uid: values.uid === undefined ? undefined : Number(values.uid),
    };
  } catch (error) {
    return { problem: error.message };
  }
}
