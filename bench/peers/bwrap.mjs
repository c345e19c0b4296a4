import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { locateBwrap, systemLayout } from "../../dist/isolation/layout.js";
import { Unavailable } from "../unavailable.mjs";

const PYTHON = "/usr/bin/python3";
const SCRIPT = fileURLToPath(new URL("./pickle_cell.py", import.meta.url));
const FOLDER_GUEST = "/cell";
const SCRIPT_GUEST = "/pickle_cell.py";

/** The system's own python3 behind one wall: read-only system folders, no network, own pids. */
export class BwrapPeer {
  #bwrap;

  constructor() {
    const bwrap = locateBwrap(process.env.PATH ?? "/usr/bin:/bin");
    if (bwrap === undefined) throw new Unavailable("bubblewrap is not installed");
    if (!existsSync(PYTHON)) throw new Unavailable(`${PYTHON} does not exist`);
    this.#bwrap = bwrap;
  }

  /** `python3 -c pass`, from spawn to exit. */
  runBare() {
    return this.run([], ["-c", "pass"]);
  }

  run(options, arguments_) {
    const argv = [...wall(), ...options, PYTHON, ...arguments_];
    return new Promise((resolve, reject) => {
      const child = spawn(this.#bwrap, argv, { stdio: ["ignore", "ignore", "pipe"] });
      let said = "";
      child.stderr.setEncoding("utf8").on("data", (text) => {
        said += text;
      });
      child.once("error", reject);
      child.once("exit", (code) => {
        if (code === 0) resolve();
        else reject(new Error(`bwrap python3 ended with ${code}: ${said.trim()}`));
      });
    });
  }
}

/** Cells that pass their state through pickle files, one process each. */
export class PickleCells {
  #peer = new BwrapPeer();
  #folder = mkdtempSync(join(tmpdir(), "cellar-bench-"));

  /** Runs a cell and returns what it printed. */
  async run(code) {
    const folder = this.#folder;
    writeFileSync(join(folder, "code.py"), code);
    await this.#peer.run(
      ["--bind", folder, FOLDER_GUEST, "--ro-bind", SCRIPT, SCRIPT_GUEST],
      [SCRIPT_GUEST, FOLDER_GUEST],
    );
    renameSync(join(folder, "out.pkl"), join(folder, "in.pkl"));
    return readFileSync(join(folder, "out.txt"), "utf8");
  }

  [Symbol.dispose]() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function wall() {
  const { folders, links } = systemLayout();
  return [
    ...["--unshare-all", "--die-with-parent"],
    ...folders.flatMap((folder) => ["--ro-bind", folder, folder]),
    ...links.flatMap(({ name, target }) => ["--symlink", target, name]),
    ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"],
  ];
}
