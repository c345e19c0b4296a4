import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { REPLConfig, SandboxInfo } from "../../src/index.js";
import { locateBwrap } from "../../src/isolation/layout.js";

const root = fileURLToPath(new URL("../../", import.meta.url));

const SCRIPT = `
import { createSandbox, shutdown } from "./dist/index.js";
const sandbox = await createSandbox(JSON.parse(process.argv[2]));
const { result } = await sandbox.execute("6 * 7");
const { info } = sandbox;
console.log(JSON.stringify({ kind: sandbox.constructor.name, info, result }));
await sandbox.destroy();
await shutdown();
`;

export interface Choice {
  readonly kind: string;
  readonly info: SandboxInfo;
  readonly result: Readonly<Record<string, string>> | null;
}

/** The installed package on a machine of its own making: what is on the path, and whose home it is. */
export class PristineMachine implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "cp-"));
  readonly home: string = join(this.#folder, "home");

  /** `programs` are the only ones that can be found. */
  constructor(programs: readonly string[]) {
    for (const name of ["dist", "package.json"]) {
      cpSync(join(root, name), join(this.#folder, name), { recursive: true });
    }
    for (const name of ["node_modules", "python", "protocol"]) {
      symlinkSync(join(root, name), join(this.#folder, name));
    }
    for (const name of ["bin", "home"]) mkdirSync(join(this.#folder, name));
    for (const path of programs) {
      symlinkSync(path, join(this.#folder, "bin", path.slice(path.lastIndexOf("/") + 1)));
    }
    writeFileSync(join(this.#folder, "choose.mjs"), SCRIPT);
  }

  get environment(): Record<string, string> {
    return { PATH: join(this.#folder, "bin"), HOME: this.home, CELLAR_PRELOAD: "none" };
  }

  /** What createSandbox chooses there. */
  async choose(config: REPLConfig): Promise<Choice> {
    const child = spawn(
      process.execPath,
      [join(this.#folder, "choose.mjs"), JSON.stringify(config)],
      { env: this.environment, stdio: ["ignore", "pipe", "pipe"] },
    );
    let said = "";
    let complaint = "";
    child.stdout.on("data", (chunk: Buffer) => {
      said += chunk;
    });
    child.stderr.on("data", (chunk: Buffer) => {
      complaint += chunk;
    });
    await once(child, "close");
    if (said === "") throw new Error(complaint);
    return JSON.parse(said);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** bubblewrap alone, where there is one. */
export function wallPrograms(): string[] {
  const bwrap = locateBwrap(process.env.PATH ?? "");
  return bwrap === undefined ? [] : [bwrap];
}

/** The weakest isolation that is asked for: where there is a wall, it must be used. */
export function leastIsolation(): "L0" | "L3-" {
  return wallPrograms().length === 0 ? "L0" : "L3-";
}
