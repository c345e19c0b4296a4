import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const LAYERS = [
  "errors",
  "concurrency",
  "config",
  "protocol",
  "http",
  "isolation",
  "egress",
  "backends",
  "web",
  "registry",
  "notebook",
  "agent",
  "rlm",
  "tools",
  "server",
  "cli",
];
/** The packages of the runner, in the same way; modules beside them come before all. */
const RUNNER_LAYERS = [
  "linux",
  "protocol",
  "values",
  "state",
  "output",
  "cells",
  "policy",
  "host",
  "context",
  "archives",
  "agent",
  "session",
  "zygote",
  "pyodide",
];
/** Files that are run by their paths, some of them before there is a package. */
const RUNNER_PROGRAMS = "bootstrap";
const BANNED_NAMES = ["utils", "util", "helpers", "helper", "common", "types", "manager"];
/** Fixtures of tests: a test may take one from anywhere, what ships may not. */
const SUPPORT = "test/support/";
const MAX_LINES = 400;
const MAX_FILES = 16;
const GENERATED = /Generated from .*not to be edited/;
const IMPORT = /\b(?:from|import)\s*\(?\s*["'](\.[^"']*)["']/g;
const LATE_IMPORT = /\bimport\(\s*["'][^"']*["']\s*\)/g;
const TYPE_IMPORT = /^\s*(?:import|export)\s+type\b[^;]*?\bfrom\s*["'][^"']*["'];?/gm;

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Paths from the repository's root, with "/" on every platform, to their text. */
type Sources = ReadonlyMap<string, string>;

function read(folder: string, suffix: string): Sources {
  const paths = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((path) => posix.join(folder, path.replaceAll("\\", "/")))
    .filter((path) => path.endsWith(suffix) && !path.includes("__pycache__"))
    .sort();
  // A declaration stands for the module that the build writes.
  return new Map(
    paths.map((path) => [path.replace(/\.d\.ts$/, ".ts"), readFileSync(join(root, path), "utf8")]),
  );
}

function importsOf(path: string, text: string): string[] {
  return [...withoutComments(text).matchAll(IMPORT)].map(([, target = ""]) =>
    posix.join(posix.dirname(path), target.replace(/\.js$/, ".ts")),
  );
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}

/** "src/protocol/frames.ts" is of the layer "protocol", "src/errors.ts" of "errors". */
function layerOf(path: string): string {
  const [, first = ""] = path.split("/");
  return first.replace(/(\.case)?(\.test)?\.ts$/, "");
}

function wrongImports(sources: Sources): string[] {
  return [...sources].flatMap(([path, text]) => {
    const layer = layerOf(path);
    if (path === "src/index.ts") return [];
    if (!LAYERS.includes(layer)) return [`${path}: no layer is called ${layer}`];
    const isTest = path.endsWith(".test.ts");
    return importsOf(path, text).flatMap((target) => {
      if (isTest && target.startsWith(SUPPORT)) return [];
      const rank = LAYERS.indexOf(layerOf(target));
      const known = target.startsWith("src/") && rank >= 0;
      return known && rank <= LAYERS.indexOf(layer) ? [] : [`${path} imports ${target}`];
    });
  });
}

const NATIVE = "src/backends/native/";
/** Everything else depends on the interfaces of backend.ts and stateful-sandbox.ts. */
const NATIVE_USERS = [
  "src/backends/shared.ts",
  "src/cli/doctor/diagnosis.ts",
  "src/index.ts",
  "src/server/daemon/daemon.ts",
];

/** Imports of the native backend, also of its types, from where only an interface should be known. */
function nativeImports(sources: Sources): string[] {
  return [...sources].flatMap(([path, text]) => {
    if (path.startsWith(NATIVE) || path.endsWith(".test.ts") || NATIVE_USERS.includes(path))
      return [];
    const targets = importsOf(path, text).filter((target) => target.startsWith(NATIVE));
    return targets.map((target) => `${path} imports ${target}`);
  });
}

const RUNNER = "python/cellar_runner/";
const PYTHON_IMPORT = /^([ \t]*)from[ \t]+(\.+)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]+)/gm;

/** The modules that a module of the runner imports, at its start or later, as their paths. */
function pythonImportsOf(sources: Sources, path: string): { target: string; isLate: boolean }[] {
  return [...(sources.get(path) ?? "").matchAll(PYTHON_IMPORT)].flatMap(
    ([, indent = "", dots = "", names = "", imported = ""]) => {
      const up = "../".repeat(dots.length - 1);
      const base = posix.join(posix.dirname(path), up, names.replaceAll(".", "/"));
      if (sources.has(`${base}.py`)) return [{ target: `${base}.py`, isLate: indent !== "" }];
      return [...imported.replace(/#.*$/gm, "").matchAll(/(\w+)(?:\s+as\s+\w+)?/g)].map(
        ([, name]) => ({
          target: posix.join(base, `${name}.py`),
          isLate: indent !== "",
        }),
      );
    },
  );
}

function runnerLayerOf(path: string): string | undefined {
  const parts = path.slice(RUNNER.length).split("/");
  return parts.length === 1 ? undefined : parts[0];
}

function wrongPythonImports(sources: Sources): string[] {
  return [...sources.keys()].flatMap((path) => {
    const layer = runnerLayerOf(path);
    const isProgram = layer === RUNNER_PROGRAMS;
    const rank = layer === undefined ? -1 : RUNNER_LAYERS.indexOf(layer);
    if (layer !== undefined && rank < 0 && !isProgram)
      return [`${path}: no layer is called ${layer}`];
    return pythonImportsOf(sources, path).flatMap(({ target }) => {
      const lower = runnerLayerOf(target);
      const isBelow = lower === undefined || RUNNER_LAYERS.indexOf(lower) <= rank;
      const isKnown = sources.has(target) && lower !== RUNNER_PROGRAMS;
      return isKnown && isBelow && !isProgram ? [] : [`${path} imports ${target}`];
    });
  });
}

/** Loops of imports that exist while modules are loaded: type imports are gone by then, `import()` comes later. */
function importCycles(
  sources: Sources,
  targetsOf = (path: string, text: string) =>
    importsOf(path, text.replace(TYPE_IMPORT, "").replace(LATE_IMPORT, "")),
): string[] {
  const cycles: string[] = [];
  const finished = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) {
      cycles.push([...trail.slice(trail.indexOf(path)), path].join(" -> "));
      return;
    }
    const text = sources.get(path);
    if (finished.has(path) || text === undefined) return;
    for (const target of targetsOf(path, text)) visit(target, [...trail, path]);
    finished.add(path);
  };
  for (const path of sources.keys()) visit(path, []);
  return cycles;
}

function badNames(sources: Sources, pattern: RegExp): string[] {
  return [...sources.keys()].filter((path) => {
    const parts = path.split("/").slice(1);
    const names = parts.map((part) => part.replace(/(\.case)?(\.test)?\.(ts|mjs|py)$/, ""));
    return names.some((name) => !pattern.test(name) || BANNED_NAMES.includes(name));
  });
}

function badCalls(sources: Sources): string[] {
  return [...sources].flatMap(([path, source]) => {
    const text = withoutComments(source);
    const isTest = path.endsWith(".test.ts");
    const readsEnvironment =
      /\bprocess\s*(?:\.|\[\s*["'])env\b/.test(text) ||
      /\benv\b[^;]*from "node:process"/.test(text);
    const usesShell =
      /\b(?:child_process|cp)\.exec(?:Sync)?\(/.test(text) ||
      /\{[^}]*\bexec(?:Sync)?\b[^}]*\}\s*from\s*["'](?:node:)?child_process["']/.test(text) ||
      /\bshell\s*:\s*(?:true\b|["'`])/.test(text);
    const listensToAbort = /EventListener\(\s*["']abort/.test(text);
    return [
      ...(listensToAbort && !isTest && path !== "src/concurrency/abort.ts"
        ? [`${path}: listens to a signal by itself; use onAbort`]
        : []),
      ...(readsEnvironment && !isTest && path !== "src/config/environment.ts"
        ? [`${path}: process.env`]
        : []),
      ...(usesShell ? [`${path}: runs a shell`] : []),
    ];
  });
}

function crowdedFolders(sources: Sources): string[] {
  const counts = new Map<string, number>();
  for (const path of sources.keys()) {
    if (/__init__\.py$|\.test\.ts$/.test(path)) continue;
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > MAX_FILES)
    .map(([folder, count]) => `${folder}: ${count} files`);
}

function tooLong(sources: Sources): string[] {
  return [...sources]
    .filter(([, text]) => !GENERATED.test(text.slice(0, 300)))
    .map(([path, text]) => ({ path, lines: text.trimEnd().split("\n").length }))
    .filter(({ lines }) => lines > MAX_LINES)
    .map(({ path, lines }) => `${path}: ${lines} lines`);
}

const source = read("src", ".ts");
const scripts = read("scripts", ".mjs");
const python = read("python", ".py");
const runner: Sources = new Map([...python].filter(([path]) => path.startsWith(RUNNER)));
const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const SNAKE = /^_{0,2}[a-z0-9]+(_[a-z0-9]+)*_{0,2}$/;

describe("the source tree", () => {
  it("imports only from its own layer and those before it", () => {
    expect(wrongImports(source)).toEqual([]);
  });

  it("keeps notebooks, Pyodide and everything else apart from the native backend", () => {
    expect(nativeImports(source)).toEqual([]);
    expect(NATIVE_USERS.filter((path) => !source.get(path)?.includes("/native/"))).toEqual([]);
  });

  it("has no import cycles", () => {
    expect(importCycles(source)).toEqual([]);
  });

  it("imports in the runner only from packages before", () => {
    expect(wrongPythonImports(runner)).toEqual([]);
    const early = (path: string) =>
      pythonImportsOf(runner, path).flatMap(({ target, isLate }) => (isLate ? [] : [target]));
    expect(importCycles(runner, early)).toEqual([]);
    expect(
      [...runner.keys()].flatMap((path) => pythonImportsOf(runner, path)).length,
    ).toBeGreaterThan(400);
  });

  it("has empty __init__ files in the runner, since each session's first process loads them", () => {
    const packages = [...runner].filter(([path]) => path.endsWith("/__init__.py"));
    expect(packages.filter(([, text]) => text.trim() !== "").map(([path]) => path)).toEqual([]);
  });

  it("has few files in a folder", () => {
    expect(crowdedFolders(runner)).toEqual([]);
    expect(crowdedFolders(source)).toEqual([]);
  });

  it("imports files that exist", () => {
    const missing = [...source].flatMap(([path, text]) =>
      importsOf(path, text).filter((target) => target.startsWith("src/") && !source.has(target)),
    );
    expect(missing).toEqual([]);
  });

  it("names files for nouns of the domain, in one case", () => {
    expect(badNames(source, KEBAB)).toEqual([]);
    expect(badNames(scripts, KEBAB)).toEqual([]);
    expect(badNames(python, SNAKE)).toEqual([]);
  });

  it("reads the environment and listens to abort signals in one place, and never runs a shell", () => {
    expect(badCalls(source)).toEqual([]);
  });

  it("keeps files short", () => {
    expect([source, scripts, python].flatMap(tooLong)).toEqual([]);
  });
});

describe("the checks above", () => {
  const made = (files: Record<string, string>): Sources => new Map(Object.entries(files));

  it("find an import that points the wrong way", () => {
    const sources = made({
      "src/index.ts": 'export { run } from "./cli/main.js";',
      "src/protocol/frames.ts": 'import { CellarError } from "../errors.js";',
      "src/protocol/peer.ts": 'import type { Level } from "../isolation/levels.js";',
      "src/notebook/cell.ts": 'const all = await import("../index.js");',
      "src/extra/thing.ts": "export const thing = 1;",
      "src/cli/main.ts": 'import "../../scripts/setup.mjs";',
      "src/cli/main.test.ts": 'import { cellar } from "../../test/support/command-line.js";',
      "src/cli/exec.ts": 'import { cellar } from "../../test/support/command-line.js";',
    });
    expect(wrongImports(sources)).toEqual([
      "src/protocol/peer.ts imports src/isolation/levels.ts",
      "src/notebook/cell.ts imports src/index.ts",
      "src/extra/thing.ts: no layer is called extra",
      "src/cli/main.ts imports scripts/setup.mjs",
      "src/cli/exec.ts imports test/support/command-line.ts",
    ]);
  });

  it("find a notebook or Pyodide that knows the native backend", () => {
    const sources = made({
      "src/backends/shared.ts": 'import("./native/runtime.js");',
      "src/backends/native/runtime.ts": 'import { Zygote } from "./zygote/zygote.js";',
      "src/backends/pyodide/session.ts": 'import { wall } from "../native/wall/wall.js";',
      "src/notebook/options.ts":
        'import type { NativeRuntime } from "../backends/native/runtime.js";',
      "src/notebook/run-once.ts": 'import { sharedRuntime } from "../backends/shared.js";',
      "src/notebook/notebook.test.ts": 'import "../backends/native/runtime.js";',
    });
    expect(nativeImports(sources)).toEqual([
      "src/backends/pyodide/session.ts imports src/backends/native/wall/wall.ts",
      "src/notebook/options.ts imports src/backends/native/runtime.ts",
    ]);
  });

  it("find imports of the runner that point the wrong way, or in a circle", () => {
    const files = {
      "agent/agent.py": "from ..session.head import Head\nfrom ..errors import one",
      "session/head.py":
        "from . import (\n    init,\n    other as another,\n)\nfrom ..linux import jail",
      "session/init.py": "from .head import a\ndef late():\n    from ..zygote import zygote",
      "linux/jail.py": "",
      "errors.py": "",
      "attic/thing.py": "",
      "zygote/zygote.py": "from ..bootstrap import scope",
      "bootstrap/scope.py": "from ..errors import one",
    };
    const sources = made(
      Object.fromEntries(Object.entries(files).map(([path, text]) => [`${RUNNER}${path}`, text])),
    );
    const found = wrongPythonImports(sources).map((line) => line.replaceAll(RUNNER, ""));
    expect(found).toEqual([
      "agent/agent.py imports session/head.py",
      "session/head.py imports session/other.py",
      "session/init.py imports zygote/zygote.py",
      "attic/thing.py: no layer is called attic",
      "zygote/zygote.py imports bootstrap/scope.py",
      "bootstrap/scope.py imports errors.py",
    ]);
    const targets = (path: string) => pythonImportsOf(sources, path).map(({ target }) => target);
    expect(importCycles(sources, targets)).toHaveLength(1);
  });

  it("find a folder with too many files", () => {
    const files = Array.from({ length: MAX_FILES + 1 }, (_, index) => [`src/cli/f${index}.ts`, ""]);
    expect(crowdedFolders(made(Object.fromEntries(files)))).toEqual(["src/cli: 17 files"]);
  });

  it("find an import over several lines, and none in a comment", () => {
    const text = 'import {\n  one,\n  two,\n} from "./b.js";\n// from "./c.js"\n';
    expect(importsOf("src/cli/a.ts", text)).toEqual(["src/cli/b.ts"]);
  });

  it("find a cycle, and let types and later imports point back", () => {
    const sources = made({
      "src/rlm/a.ts": 'import { b } from "./b.js";',
      "src/rlm/b.ts": 'import { c } from "./c.js";',
      "src/rlm/c.ts": 'import { a } from "./a.js";',
      "src/cli/d.ts": 'import { e } from "./e.js";',
      "src/cli/e.ts": 'import type { D } from "./d.js";',
      "src/agent/f.ts": 'const g = () => import("./g.js");',
      "src/agent/g.ts": 'import { f } from "./f.js";',
    });
    expect(importCycles(sources)).toEqual([
      "src/rlm/a.ts -> src/rlm/b.ts -> src/rlm/c.ts -> src/rlm/a.ts",
    ]);
  });

  it("find bad names", () => {
    const sources = made({
      "src/cli/main.ts": "",
      "src/backends/conformance.case.test.ts": "",
      "src/cli/utils.ts": "",
      "src/cli/fooBar.ts": "",
      "src/helpers/path.ts": "",
    });
    const bad = ["src/cli/utils.ts", "src/cli/fooBar.ts", "src/helpers/path.ts"];
    expect(badNames(sources, KEBAB)).toEqual(bad);
  });

  it("find the environment, the shell and an abort listener", () => {
    const sources = made({
      "src/concurrency/abort.ts": 'signal.addEventListener("abort", listener);',
      "src/cli/f.ts": 'signal?.addEventListener(\n"abort", stop);',
      "src/config/environment.ts": "process.env.HOME",
      "src/cli/a.ts": "process.env.HOME",
      "src/cli/b.ts": 'import { exec } from "node:child_process";',
      "src/cli/c.ts": "spawn(file, args, { shell: true });",
      "src/cli/d.ts": "pattern.exec(text); spawn(file, args, { shell: false }); // process",
      "src/cli/e.ts": 'import { execFile, spawn } from "node:child_process";',
    });
    expect(badCalls(sources)).toEqual([
      "src/cli/f.ts: listens to a signal by itself; use onAbort",
      "src/cli/a.ts: process.env",
      "src/cli/b.ts: runs a shell",
      "src/cli/c.ts: runs a shell",
    ]);
  });

  it("find a long file", () => {
    const sources = made({
      "src/a.ts": "x\n".repeat(400),
      "src/b.ts": "x\n".repeat(401),
      "python/c.py": `"""Tables.\n\nGenerated from a.ts; not to be edited.\n"""\n${"x\n".repeat(401)}`,
    });
    expect(tooLong(sources)).toEqual(["src/b.ts: 401 lines"]);
  });
});

describe("package-lock.json", () => {
  it("names no download address", () => {
    const text = readFileSync(join(root, "package-lock.json"), "utf8");
    expect(text).not.toMatch(/"resolved":\s*"https?:/);
  });
});
