import { parseArgs } from "node:util";

export const HELP = `npm run trial -- [options]

Installs the package as a stranger would, on machines that lack something, and checks what it says.

  --only NAME,…    only these machines; --list names them
  --python PATH    also with this Python; may be repeated
  --short          only what is characteristic of a machine, as in npm test
  --uid N          as root: the ordinary user to be; the one called nobody
  --json FILE      write the results there
  --keep           leave the folder of the trial in place, and say where it is
  --list           name the machines and end
  -h, --help       show this`;

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

/** What was asked for, or `{ problem }`. */
export function parseTrialArguments(argv) {
  try {
    const { values } = parseArgs({ args: argv, options: OPTIONS, strict: true });
    if (values.uid !== undefined && !/^[1-9]\d{0,8}$/.test(values.uid)) {
      return { problem: `--uid ${values.uid}: an ordinary user has a number above 0` };
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
