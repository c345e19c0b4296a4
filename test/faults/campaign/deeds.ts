import type { Chance } from "./chance.js";

/** One thing that a holder is asked to do with its notebook. */
export interface Deed {
  readonly name:
    | "open"
    | "run"
    | "add"
    | "undo"
    | "delete"
    | "replay"
    | "putFile"
    | "fork"
    | "look"
    | "close";
  /** As the holder takes them. */
  readonly args: readonly string[];
  readonly code?: string;
  /** The id of the cell that it is about. */
  readonly target?: string;
  /** The file that it writes, and what is in it then. */
  readonly file?: { readonly path: string; readonly text: string };
}

/** Long enough to lie in a file of its own; the same in many cells, so that they share it. */
const LONG = 70_000;
export const SHARED_FILE = "shared.txt";

/** Each cell adds its own token to what all before it have left, and shows all of them. */
function chainCode(token: string, more: string): string {
  const lines = [`log = globals().get('log', []) + ['${token}']`, "print(*log)"];
  return [...lines, more].filter((line) => line !== "").join("\n");
}

/** Shows what the variables hold, and whether the large one is whole. */
export const PROBE = [
  "import hashlib",
  "print(*globals().get('log', []))",
  "print('big' not in globals() or hashlib.sha256(big).hexdigest() == big_sum)",
].join("\n");
export const TORN = "False";

/** Goes on writing into the workspace when its cell is over. */
export const SCRIBBLE = `import subprocess
_scribe = subprocess.Popen(["sh", "-c", "while :; do echo former > ${SHARED_FILE}; sleep 0.01; done"])
del _scribe`;

export function tokensOf(shown: string): string[] {
  return shown.split(" ").filter((word) => /^t\d+x\w+$/.test(word));
}

export function tokenOf(code: string): string | undefined {
  return /\['(t\d+x\w+)'\]/.exec(code)?.[1];
}

export function runDeed(token: string, chance: Chance): Deed {
  const flavour = chance.weighted({ plain: 8, long: 4, big: 4, file: 4, slow: 4, process: 1 });
  const file = { path: `${token}.txt`, text: token };
  const more = {
    plain: "",
    long: `'.' * ${LONG}`,
    big: bigValue(chance.one([1, 4, 12])),
    file: `_ = open('${file.path}', 'w').write('${file.text}')`,
    slow: `import time\ntime.sleep(${chance.one([0.02, 0.1, 0.3])})`,
    process: "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True).pid",
  }[flavour];
  const code = chainCode(token, more);
  return { name: "run", args: [code], code, ...(flavour === "file" && { file }) };
}

/** Its snapshot takes a while to be written. */
export function bigDeed(token: string): Deed {
  const code = chainCode(token, bigValue(12));
  return { name: "run", args: [code], code };
}

function bigValue(megabytes: number): string {
  return [
    "import os, hashlib",
    `big = os.urandom(${megabytes} << 20)`,
    "big_sum = hashlib.sha256(big).hexdigest()",
  ].join("\n");
}

/** Leaves content in a file of its own that other cells have too. */
export function longDeed(token: string): Deed {
  const code = chainCode(token, `'.' * ${LONG}`);
  return { name: "run", args: [code], code };
}

export function fileDeed(path: string, text: string): Deed {
  return { name: "putFile", args: [path, text], file: { path, text } };
}

/** What a user might do next, given the cells that there are. */
export function nextDeed(
  chance: Chance,
  token: string,
  cells: readonly { id: string; state: string }[],
  isBehind: boolean,
): Deed {
  const name = chance.weighted({
    run: 60,
    add: 5,
    undo: cells.length > 1 ? 9 : 0,
    delete: cells.length > 2 ? 7 : 0,
    replay: isBehind ? 60 : 0,
    putFile: 7,
    fork: 5,
  });
  switch (name) {
    case "run":
      return runDeed(token, chance);
    case "add": {
      const code = chainCode(token, "");
      return { name, args: [code], code };
    }
    case "delete": {
      const { id } = chance.one(cells);
      return { name, args: [id], target: id };
    }
    case "putFile":
      return fileDeed(`put-${chance.below(3)}.txt`, token);
    case "fork":
      return { name, args: [`fork-${token}`] };
    default:
      return { name, args: [] };
  }
}
