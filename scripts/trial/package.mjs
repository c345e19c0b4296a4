import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

const BUILD_MS = 300_000;
const INSTALL_MS = 300_000;
export const HEAVIEST_MB = 50;

/** Packs the tarball that a registry would receive. */
export async function packTarball(root, folder, processes) {
  const options = { cwd: root, env: process.env };
  if (!existsSync(join(root, "dist", "cli", "main.js"))) {
    const built = await processes.run(["npm", "run", "build"], { ...options, limit: BUILD_MS });
    if (built.code !== 0) throw new Error(`npm run build: ${built.stdout}${built.stderr}`);
  }
  const words = ["npm", "pack", "--silent", "--pack-destination", folder];
  const packed = await processes.run(words, { ...options, limit: BUILD_MS });
  const name = readdirSync(folder).find((file) => file.endsWith(".tgz"));
  if (packed.code !== 0 || name === undefined) throw new Error(`npm pack: ${packed.stderr}`);
  const tarball = join(folder, name);
  chmodSync(tarball, 0o644);
  return tarball;
}

/** `npm install TARBALL` in an empty folder. */
export function installTarball(machine, tarball) {
  return machine.run(["npm", "install", tarball], { limit: INSTALL_MS });
}

/** Whether npm failed because it could not reach a registry. */
export function isWithoutRegistry({ code, stderr }) {
  return (
    code !== 0 && /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|ENOTCACHED/.test(stderr)
  );
}

/** Disk usage of the packages, as du counts. */
export function weightMb(folder) {
  return Math.round((blocks(folder) * 512 * 10) / 2 ** 20) / 10;
}

function blocks(path) {
  const facts = lstatSync(path);
  if (!facts.isDirectory()) return facts.blocks;
  return readdirSync(path).reduce((sum, name) => sum + blocks(join(path, name)), facts.blocks);
}

/** The package's README: its first commands, and its first program with its output. */
export function firstScreen(project) {
  const text = readFileSync(join(project, "node_modules", "cellar", "README.md"), "utf8");
  const blocks = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, body]) => ({
    language,
    body,
  }));
  const at = blocks.findIndex(({ language }) => language === "ts");
  const commands = blocks
    .slice(0, Math.max(at, 0))
    .filter(({ language }) => language === "sh")
    .flatMap(({ body }) => body.split("\n"))
    .filter((line) => line.startsWith("npx cellar "));
  const next = blocks[at + 1];
  return {
    commands,
    program: blocks[at]?.body,
    prints: next?.language === "text" ? next.body : undefined,
  };
}

/** Writes a program that imports the package into the project. */
export function writeProgram(machine, name, source) {
  const path = join(machine.project, name);
  writeFileSync(path, source, { mode: 0o644 });
  return path;
}
