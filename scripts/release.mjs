#!/usr/bin/env node
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const HELP = `Usage: npm run release -- VERSION [OPTIONS]

Prepares a release in this checkout: checks, version, date in CHANGELOG.md,
tests, package, commit and tag. It publishes nothing; at the end it prints the
commands that do, for you to run.

VERSION is major, minor or patch, or the version itself, such as 0.1.0.

Options:
  --dry-run      run the checks, print the steps, and change nothing
  --skip-tests   do not run npm test
  --help         print this text`;

const USAGE = "npm run release -- --help";
const OPTIONS = {
  "dry-run": { type: "boolean", default: false },
  "skip-tests": { type: "boolean", default: false },
  help: { type: "boolean", default: false },
};
const BRANCH = "main";
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;

class ReleaseError extends Error {
  constructor(message, fix, exitCode = 1) {
    super(message);
    this.fix = fix;
    this.exitCode = exitCode;
  }
}

function main(argv) {
  try {
    const { values, wanted } = argumentsOf(argv);
    if (values.help) console.log(HELP);
    else release(wanted, { isDry: values["dry-run"], skipTests: values["skip-tests"] });
    return 0;
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    console.error(`release: ${error.message}\nfix: ${error.fix}`);
    return error.exitCode;
  }
}

function argumentsOf(argv) {
  const { values, positionals } = parsed(argv);
  if (!values.help && positionals.length !== 1) {
    const given = positionals.length === 0 ? "no argument" : positionals.join(" ");
    throw new ReleaseError(`expected one version, got ${given}`, USAGE, 2);
  }
  return { values, wanted: positionals[0] };
}

function parsed(argv) {
  try {
    return parseArgs({ args: argv, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new ReleaseError(error.message, USAGE, 2);
  }
}

function release(wanted, { isDry, skipTests }) {
  const current = JSON.parse(textOf("package.json")).version;
  const version = nextVersion(current, wanted);
  const tag = `v${version}`;
  check(tag);

  const changes = changedTexts(version);
  tellOldNames(current, version);
  const step = (text, act) => {
    console.log(`${isDry ? "would" : "now"}: ${text}`);
    if (!isDry) act();
  };
  const before = new Map([...changes.keys()].map((path) => [path, textOf(path)]));
  let file = `cellar-${version}.tgz`;
  let isCommitted = false;
  try {
    step(`set the version ${current} → ${version} and the date of its changes`, () =>
      writeTexts(changes),
    );
    step("set up and build", () => script("setup.mjs", ["--quiet"]));
    if (skipTests) console.log("skipped: npm test");
    else step("run npm test", () => script("test.mjs", []));
    step(`pack ${file}`, () => {
      file = script("pack.mjs", [root], { capture: true }).trim();
      console.log(contentsOf(file));
    });
    step(`commit ${[...changes.keys()].join(", ")} and tag ${tag}`, () => {
      git("commit", "--quiet", "--message", `release: ${version}`, "--", ...changes.keys());
      isCommitted = true;
      git("tag", "--annotate", tag, "--message", `Cellar ${version}`);
    });
  } catch (error) {
    // The next attempt starts from the same state.
    if (!isCommitted) writeTexts(before);
    throw error;
  }
  console.log(`
Nothing was published. To publish, run:

  git push origin ${BRANCH} ${tag}
  npm publish --provenance ${file}

npm accepts --provenance only from a CI that it trusts; elsewhere omit the flag.`);
}

function check(tag) {
  const branch = git("rev-parse", "--abbrev-ref", "HEAD").trim();
  if (branch !== BRANCH) {
    throw new ReleaseError(
      `the branch is ${branch}; releases are made from ${BRANCH}`,
      `git switch ${BRANCH}`,
    );
  }
  const changed = git("status", "--porcelain").trimEnd();
  if (changed !== "") {
    const [first = "", ...others] = changed.split("\n").map((line) => line.slice(3));
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    throw new ReleaseError(`the working tree is not clean: ${first}${more}`, "commit or stash it");
  }
  if (git("tag", "--list", tag).trim() !== "") {
    throw new ReleaseError(`the tag ${tag} already exists`, "choose a higher version");
  }
}

function nextVersion(current, wanted) {
  const numbers = current.split(".").map(Number);
  const place = ["major", "minor", "patch"].indexOf(wanted);
  if (place >= 0) {
    return numbers
      .map((number, at) => (at < place ? number : at === place ? number + 1 : 0))
      .join(".");
  }
  if (!VERSION.test(wanted)) {
    throw new ReleaseError(
      `invalid version ${wanted}; give major, minor, patch or X.Y.Z`,
      USAGE,
      2,
    );
  }
  const asked = wanted.split(".").map(Number);
  const at = asked.findIndex((number, index) => number !== numbers[index]);
  if (at >= 0 && asked[at] < numbers[at]) {
    throw new ReleaseError(`${wanted} is lower than the current version ${current}`, USAGE, 2);
  }
  return wanted;
}

/** The new content of files that name the version, by path. */
function changedTexts(version) {
  const manifest = JSON.parse(textOf("package.json"));
  const lock = JSON.parse(textOf("package-lock.json"));
  manifest.version = version;
  lock.version = version;
  lock.packages[""].version = version;
  const json = (value) => `${JSON.stringify(value, null, 2)}\n`;
  return new Map([
    ["CHANGELOG.md", datedChangelog(textOf("CHANGELOG.md"), version)],
    ["package.json", json(manifest)],
    ["package-lock.json", json(lock)],
  ]);
}

function datedChangelog(text, version) {
  const heading = `## [${version}] - unreleased`;
  if (!text.split("\n").includes(heading)) {
    throw new ReleaseError(
      `CHANGELOG.md has no unreleased section ${version}`,
      `add the heading "${heading}", and commit it`,
    );
  }
  const date = new Date().toISOString().slice(0, 10);
  return text.replace(heading, `## [${version}] - ${date}`);
}

/** A short summary of the package's contents. */
function contentsOf(file) {
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const said = program(npm, ["pack", "--dry-run", "--json", "--loglevel=error", file], {
    capture: true,
  });
  const [{ id, size, unpackedSize, files }] = JSON.parse(said);
  const counts = new Map();
  for (const { path } of files) {
    const top = path.includes("/") ? `${path.split("/")[0]}/` : path;
    counts.set(top, (counts.get(top) ?? 0) + 1);
  }
  const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  const parts = [...counts].map(([top, count]) => (count === 1 ? top : `${top} (${count})`));
  return `  ${id}: ${files.length} files, ${megabytes(size)}, unpacked ${megabytes(unpackedSize)}\n  ${parts.join(", ")}`;
}

/** Documents show output that contains the version; a person decides which of them to update. */
function tellOldNames(current, version) {
  if (current === version) return;
  const pages = ["*.md", ":!CHANGELOG.md"];
  const found = spawnSync(
    "git",
    ["grep", "--files-with-matches", "--fixed-strings", current, "--", ...pages],
    {
      cwd: root,
      encoding: "utf8",
    },
  );
  const names = found.stdout
    .trim()
    .split("\n")
    .filter((name) => name !== "");
  if (names.length > 0) console.log(`still mention ${current}: ${names.join(", ")}`);
}

function textOf(path) {
  return readFileSync(join(root, path), "utf8");
}

function writeTexts(texts) {
  for (const [path, text] of texts) writeFileSync(join(root, path), text);
}

function script(name, args, options) {
  return program(process.execPath, [join(root, "scripts", name), ...args], options);
}

function git(...args) {
  return program("git", args, { capture: true });
}

function program(file, args, { capture = false } = {}) {
  const { status, stdout, stderr, error } = spawnSync(file, args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", capture ? "pipe" : "inherit", capture ? "pipe" : "inherit"],
  });
  if (status === 0) return stdout ?? "";
  const said = error?.message ?? stderr?.trim().split("\n").at(-1) ?? "";
  const what = [file === process.execPath ? "node" : file, ...args].join(" ");
  throw new ReleaseError(
    `${what} failed${said === "" ? "" : `: ${said}`}`,
    "see what it said, then try again",
  );
}

process.exitCode = main(process.argv.slice(2));
