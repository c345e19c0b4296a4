import { execFile } from "node:child_process";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const MAIN = join(root, "dist", "cli", "main.js");

/** Writes the address of each module to stderr when it is loaded. */
const HOOKS = `export async function load(url, context, next) {
  process._rawDebug("loaded " + url);
  return next(url, context);
}`;
const REGISTER = `import { register } from "node:module"; register(${JSON.stringify(dataUrl(HOOKS))});`;

function dataUrl(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

/** What a new process loads, as paths in this folder or names of Node's modules. */
async function loadedBy(...args: readonly string[]): Promise<string[]> {
  const options = ["--import", dataUrl(REGISTER), ...args];
  const { stderr } = await promisify(execFile)(process.execPath, options, { cwd: root });
  return [...stderr.matchAll(/^loaded (.+)$/gm)].map(([, url = ""]) =>
    url.startsWith("file:") ? relative(root, fileURLToPath(url)) : url,
  );
}

function importing(entry: string): Promise<string[]> {
  const address = pathToFileURL(join(root, "dist", entry)).href;
  return loadedBy("--input-type=module", "--eval", `await import(${JSON.stringify(address)})`);
}

/** What takes long to load, or to set up, and is needed only by some. */
const HEAVY =
  /\/vendor\/|node_modules|daemon-contract|\/live-|native-sandboxes|zygote|protocol\/messages|config\.js$/;
const HEAVY_NODE = ["node:child_process", "node:http", "node:https", "node:worker_threads"];

describe("a new process", () => {
  it.each(["index.js", "notebook/index.js"])("that imports %s loads little", async (entry) => {
    const loaded = await importing(entry);
    expect(loaded).toContain(`dist/${entry}`);
    expect(loaded.filter((path) => HEAVY.test(path) || HEAVY_NODE.includes(path))).toEqual([]);
    expect(loaded.filter((path) => path.startsWith("dist/")).length).toBeLessThan(70);
  });

  it("that tells the version loads neither the parser nor a command", async () => {
    const loaded = await loadedBy(MAIN, "--version");
    expect(loaded.filter((path) => /commander|bundles/.test(path))).toEqual([]);
    expect(loaded.length).toBeLessThan(25);
  });

  it("that tells all commands loads nothing that they need to run", async () => {
    const loaded = await loadedBy(MAIN, "--help");
    const running = /\/(?:select|live-|native-sandboxes|talk|control|report|show|install|serving)/;
    expect(loaded.some((path) => path.endsWith("vendor/commander.js"))).toBe(true);
    expect(loaded.filter((path) => /vendor\/zod/.test(path) || running.test(path))).toEqual([]);
  });

  it("that runs a wrong exec loads no parser", async () => {
    const error = await loadedBy(MAIN, "exec", "/no/such/file.py").catch((thrown) => thrown);
    expect(error.stderr).toContain("it does not exist");
    expect(error.stderr).not.toMatch(/vendor\/commander/);
  });
});
