import { spawn } from "node:child_process";
import { z } from "zod";
import { CellarError } from "../errors.js";
import { escapeControls, isTerminal, painterFor } from "./terminal.js";

const REMEMBERED_CHARACTERS = 16_384;
const SHOWN_LINES = 3;
const UNREACHABLE =
  /connection broken|could not fetch url|max retries exceeded|NewConnectionError|name resolution/i;
const NO_WHEEL = /no matching distribution found|could not find a version/i;
const UNWRITABLE = /permission denied|read-only file system/i;
const FULL = /no space left on device/i;

const VERSIONS = `
import json, sys
try:
    from importlib import metadata
except ImportError:
    metadata = None
def version(name):
    try:
        return metadata.version(name)
    except Exception:
        return None
print(json.dumps([{"name": name, "version": version(name)} for name in sys.argv[1:]]))
`;

const versionsSchema = z.array(z.object({ name: z.string(), version: z.string().nullable() }));

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  /** The end of everything it said. */
  readonly said: string;
}

export async function installPackages(python: string, names: readonly string[]): Promise<void> {
  if ((await run(python, ["-I", "-m", "pip", "--version"], false)).code !== 0) {
    await run(python, ["-I", "-m", "ensurepip"], false);
  }
  const flags = ["--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "15"];
  const { code, said } = await run(
    python,
    ["-I", "-m", "pip", "install", ...flags, "--only-binary", ":all:", "--", ...names],
    true,
  );
  if (code === 0) return;
  throw new CellarError("INSTALL_FAILED", `pip could not install it: ${lastLines(said)}`, {
    remedy: remedyFor(said, python),
    details: { names, code },
  });
}

export async function makeEnvironment(python: string, folder: string): Promise<void> {
  // What the system's Python offered so far stays visible.
  const { code, said } = await run(
    python,
    ["-I", "-m", "venv", "--system-site-packages", folder],
    false,
  );
  if (code === 0) return;
  throw new CellarError("INSTALL_FAILED", `no environment could be made: ${lastLines(said)}`, {
    remedy: "On Debian and Ubuntu: sudo apt-get install python3-venv.",
  });
}

export async function installedVersions(
  python: string,
  names: readonly string[],
): Promise<z.infer<typeof versionsSchema>> {
  const { stdout } = await run(python, ["-I", "-c", VERSIONS, ...names], false);
  try {
    return versionsSchema.parse(JSON.parse(stdout));
  } catch {
    return names.map((name) => ({ name, version: null }));
  }
}

function remedyFor(said: string, python: string): string {
  if (UNREACHABLE.test(said)) {
    return "No package index answers: check the network, a proxy, or PIP_INDEX_URL.";
  }
  if (FULL.test(said)) return "Free some space on the disk.";
  if (UNWRITABLE.test(said))
    return "Make the environment writable for you, or name another with --python.";
  if (NO_WHEEL.test(said)) {
    return (
      "Check the name and the version. If the package comes as source only, install it yourself " +
      `(its set-up code runs as you): ${python} -m pip install NAME.`
    );
  }
  return `Try it by hand: ${python} -m pip install NAME.`;
}

/** What pip says goes to stderr as it comes, on a terminal only. */
function run(file: string, args: readonly string[], shown: boolean): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
    const show = shown && isTerminal(process.stderr);
    const paint = painterFor(process.stderr);
    let said = "";
    let stdout = "";
    const hear = (text: string) => {
      said = (said + text).slice(-REMEMBERED_CHARACTERS);
      if (show) process.stderr.write(paint("dim", escapeControls(text)));
    };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout = (stdout + text).slice(-REMEMBERED_CHARACTERS);
      hear(text);
    });
    child.stderr.setEncoding("utf8").on("data", hear);
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, said }));
  });
}

function lastLines(text: string): string {
  const lines = text
    .trim()
    .split("\n")
    .filter((line) => line.trim() !== "");
  const errors = lines.filter((line) => line.startsWith("ERROR"));
  return (errors.length > 0 ? errors : lines).slice(-SHOWN_LINES).join("\n  ") || "it said nothing";
}
