import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { bundle } from "../bundle.mjs";
import { writeDaemonContract } from "../daemon-contract.mjs";
import { run } from "./command.mjs";
import { giveToOwner, hashOf } from "./state.mjs";

const BUILD_TIMEOUT = 5 * 60 * 1000;

export async function build({ root, report, state }) {
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  if (!existsSync(compiler)) {
    report.fatal("build", "the compiler is not installed", "npm ci");
    return;
  }
  const sources = listSources(join(root, "src"));
  const inputs = [
    ...sources,
    "tsconfig.json",
    "package.json",
    "package-lock.json",
    "protocol/schema.json",
    "scripts/bundle.mjs",
    "scripts/daemon-contract.mjs",
  ];
  const key = hashOf(...inputs.flatMap((path) => [path, readFileSync(join(root, path))]));
  if (state.values.build === key && sources.every((path) => existsSync(outputOf(root, path)))) {
    linkCommand(root);
    report.ok("build", "up to date");
    return;
  }
  report.progress("building (a few seconds)");
  const result = await run(process.execPath, [compiler, "-p", join(root, "tsconfig.json")], {
    cwd: root,
    timeout: BUILD_TIMEOUT,
  });
  if (!result.ok) {
    giveToOwner(root, join(root, "dist"));
    delete state.values.build;
    console.log(result.output.trimEnd());
    report.fatal("build", "tsc failed", "fix the errors above");
    return;
  }
  await writeDaemonContract(root);
  await bundle(root).catch((error) => {
    report.missing("bundle", error.message, "npm ci; without it, cellar exec starts more slowly");
  });
  giveToOwner(root, join(root, "dist"));
  state.values.build = key;
  linkCommand(root);
  report.ok("build", `${sources.length} files compiled to dist`);
}

/** Makes `npx cellar` work in the checkout: npm links only the commands of dependencies. */
function linkCommand(root) {
  const command = join(root, "dist", "cli", "main.js");
  const link = join(root, "node_modules", ".bin", "cellar");
  if (process.platform === "win32" || !existsSync(command)) return;
  if ((statSync(command).mode & 0o111) !== 0o111) chmodSync(command, 0o755);
  if (existsSync(link)) return;
  rmSync(link, { force: true });
  symlinkSync(join("..", "..", "dist", "cli", "main.js"), link);
  giveToOwner(root, link);
}

function listSources(folder) {
  return readdirSync(folder, { recursive: true })
    .map((path) => join("src", path))
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
    .sort();
}

function outputOf(root, source) {
  return join(root, source.replace(/^src/, "dist").replace(/(\.d)?\.ts$/, ".js"));
}
