import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { settingLayers, settingSources, userFolders } from "./config/environment.js";
import { resolveSettings } from "./config.js";
import { CellarError } from "./errors.js";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cellar-config-test-"));
  vi.stubEnv("XDG_CONFIG_HOME", join(folder, "config"));
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

const resolve = (options: object = {}) =>
  resolveSettings(options, settingLayers(folder), () => settingSources(folder));

function refusalOf(options: object = {}): string {
  try {
    resolve(options);
  } catch (error) {
    if (!(error instanceof CellarError) || error.code !== "INVALID_CONFIG") throw error;
    return `${error.message} | ${error.remedy}`;
  }
  throw new Error("it was taken");
}

const writeProject = (settings: object) =>
  writeFileSync(join(folder, "cellar.config.json"), JSON.stringify(settings));

describe("settings", () => {
  it("have defaults", () => {
    expect(resolve()).toMatchObject({
      timeout: 30_000,
      maxOutputLength: 50_000,
      minIsolation: "L3-",
      checkpoints: "auto",
      checkpointInterval: 100,
      keepCheckpoints: 10,
    });
  });

  it("take options before the environment, the project's file and the user's file", () => {
    mkdirSync(join(folder, "config", "cellar"), { recursive: true });
    writeFileSync(
      join(folder, "config", "cellar", "config.json"),
      JSON.stringify({ timeout: 100, grace: 100, poolSize: 1, limits: { memoryMb: 10, tmpMb: 1 } }),
    );
    writeProject({ timeout: 200, grace: 200, poolSize: 2, limits: { memoryMb: 20 } });
    vi.stubEnv("CELLAR_TIMEOUT", "300");
    vi.stubEnv("CELLAR_POOL_SIZE", "3");
    vi.stubEnv("CELLAR_LIMITS_MEMORY_MB", "30");
    vi.stubEnv("CELLAR_PRELOAD", "standard");
    expect(resolve({ timeout: 4 })).toMatchObject({
      timeout: 4,
      poolSize: 3,
      grace: 200,
      preload: "standard",
      limits: { memoryMb: 30, tmpMb: 1 },
    });
  });

  it("take durations and sizes with a unit, from variables and files", () => {
    writeProject({ timeout: "2m", stateMaxSizeMb: "1GiB", limits: { tmpMb: "512KB" } });
    vi.stubEnv("CELLAR_GRACE", "1.5s");
    vi.stubEnv("CELLAR_QUERY_TIMEOUT", "5ms");
    vi.stubEnv("CELLAR_DAEMON_IDLE", "1h");
    vi.stubEnv("CELLAR_LIMITS_MEMORY_MB", "2GB");
    expect(resolve()).toMatchObject({
      timeout: 120_000,
      grace: 1_500,
      queryTimeout: 5,
      daemonIdle: 3_600_000,
      stateMaxSizeMb: 1024,
      limits: { memoryMb: 2048, tmpMb: 1 },
    });
  });

  it("refuse a bare number of milliseconds that was rather meant as seconds", () => {
    vi.stubEnv("CELLAR_TIMEOUT", "5");
    const told = "CELLAR_TIMEOUT: 5 means 5 ms | Write 5s for seconds, or 5ms if that is meant.";
    expect(refusalOf()).toBe(told);
    vi.stubEnv("CELLAR_TIMEOUT", "5s");
    writeProject({ grace: 2 });
    expect(refusalOf()).toContain(`"grace" in ${join(folder, "cellar.config.json")}: 2 means 2 ms`);
    writeProject({ grace: 0 });
    // In code the unit is known.
    expect(resolve({ timeout: 5 })).toMatchObject({ timeout: 5, grace: 0 });
  });

  it("tell what is no duration and no size", () => {
    vi.stubEnv("CELLAR_TIMEOUT", "abc");
    expect(refusalOf()).toBe(
      'CELLAR_TIMEOUT is "abc", which is not a duration | Write 500ms, 5s, 2m or 1h; a number without a unit is in milliseconds.',
    );
    vi.stubEnv("CELLAR_TIMEOUT", "");
    writeProject({ limits: { memoryMb: "2XB" } });
    expect(refusalOf()).toMatch(
      /"limits.memoryMb" in .* is "2XB", which is not a size \| .* 2GB; .* MB/,
    );
  });

  it("tell where a value came from, what it was, and what would be right", () => {
    expect(refusalOf({ timeout: "soon" })).toContain(
      'option timeout must be a number of milliseconds, not "soon"',
    );
    expect(refusalOf({ limits: { memoryMb: 1 } })).toContain(
      "option limits.memoryMb must be at least 8 MB, not 1",
    );
    expect(refusalOf({ preload: "som" })).toContain(
      'option preload must be one of "full", "standard", "none" or a list, not "som"',
    );
    writeProject({ poolSize: 999, minIsolation: "L9" });
    const file = join(folder, "cellar.config.json");
    expect(refusalOf()).toContain(`"poolSize" in ${file} must be at most 256, not 999`);
    expect(refusalOf()).toContain(`"minIsolation" in ${file} must be one of "L0", "L1"`);
    vi.stubEnv("CELLAR_POOL_SIZE", "-1");
    expect(refusalOf()).toContain("CELLAR_POOL_SIZE must be at least 0, not -1");
    expect(refusalOf({ indexURL: "" })).not.toContain("CELLAR_INDEX_URL");
  });

  it("never show a password of an address", () => {
    vi.stubEnv("CELLAR_CHECKPOINTS", "https://ann:secret@example.org/");
    expect(refusalOf()).toMatch(
      /CELLAR_CHECKPOINTS must be one of .* not "https:\/\/…@example.org/,
    );
  });

  it("name the option that was meant, and all there are", () => {
    expect(refusalOf({ timeuot: 5 })).toMatch(
      /unknown option "timeuot"; did you mean timeout\? \| .*limits\.memoryMb.*backend, mounts, env.*tools/,
    );
    expect(refusalOf({ limits: { memory: 5 } })).toContain(
      'unknown option "limits.memory"; did you mean limits.memoryMb?',
    );
    expect(refusalOf({ limits: { memry: 5 } })).toContain("did you mean limits.memoryMb?");
    writeProject({ timout: 3, mounts: [] });
    const file = join(folder, "cellar.config.json");
    expect(refusalOf()).toContain(`unknown setting "timout" in ${file}; did you mean timeout?`);
    expect(refusalOf()).toContain(`"mounts" in ${file}; it can be given in code only`);
    expect(refusalOf().split("|")[1]).not.toContain("mounts");
  });

  it("refuse a variable that is a letter off, and pass over those of others", () => {
    vi.stubEnv("CELLAR_TRACE", "1");
    vi.stubEnv("CELLAR_HOME", "1");
    resolve();
    vi.stubEnv("CELLAR_LIMITS_MEMORY", "512");
    expect(refusalOf()).toContain("CELLAR_LIMITS_MEMORY; did you mean CELLAR_LIMITS_MEMORY_MB?");
    vi.stubEnv("CELLAR_LIMITS_MEMORY", "");
    vi.stubEnv("CELLAR_TIMOUT", "5s");
    expect(refusalOf()).toContain("unknown setting CELLAR_TIMOUT; did you mean CELLAR_TIMEOUT?");
  });

  it("have a variable each", () => {
    vi.stubEnv("CELLAR_INDEX_URL", "https://example.org/pyodide/");
    expect(resolve().indexURL).toBe("https://example.org/pyodide/");
  });

  it("take a network by its name or as a list, and nothing between", () => {
    expect(resolveSettings({}, {}).network).toBe("none");
    const network = { allow: ["example.org"] };
    expect(resolveSettings({ network }, {}).network).toEqual(network);
    for (const wrong of ["all", { allow: [] }, { allow: [""] }, { deny: ["a"] }, true]) {
      expect(() => resolveSettings({ network: wrong }, {})).toThrow("network");
    }
  });

  it("refuse a broken file instead of passing over it", () => {
    writeFileSync(join(folder, "cellar.config.json"), "{ not json");
    expect(() => resolve()).toThrow(/cellar\.config\.json/);
  });
});

describe("the folder of a login", () => {
  it("is the system's where that is private, else the user's own", () => {
    vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
    const runtime = join(folder, "run");
    mkdirSync(runtime, { mode: 0o700 });
    symlinkSync(runtime, join(folder, "link"));
    vi.stubEnv("XDG_RUNTIME_DIR", runtime);
    expect(userFolders().runtime).toBe(join(runtime, "cellar"));
    for (const unfit of [join(folder, "link"), join(folder, "none"), "run", ""]) {
      vi.stubEnv("XDG_RUNTIME_DIR", unfit);
      expect(userFolders().runtime).toBe(join(folder, "state", "cellar"));
    }
    chmodSync(runtime, 0o777);
    vi.stubEnv("XDG_RUNTIME_DIR", runtime);
    expect(userFolders().runtime).toBe(join(folder, "state", "cellar"));
  });
});

describe("the folder of a user", () => {
  const home = () => join(folder, "home");
  const among = () => {
    const { state, python, notebooks, cache } = userFolders();
    return { state, python, notebooks, cache };
  };
  const all = (state: string) => ({
    state,
    python: join(state, "python"),
    notebooks: state,
    cache: join(state, "cache"),
  });

  it("is one, which a variable can place elsewhere", () => {
    vi.stubEnv("HOME", home());
    for (const name of ["CELLAR_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"]) vi.stubEnv(name, "");
    expect(among()).toEqual(all(join(home(), ".local", "state", "cellar")));
    vi.stubEnv("XDG_STATE_HOME", "relative/counts/as/none");
    expect(among()).toEqual(all(join(home(), ".local", "state", "cellar")));
    vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
    vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
    expect(among()).toEqual(all(join(folder, "state", "cellar")));
    vi.stubEnv("CELLAR_HOME", join(folder, "chosen"));
    expect(among()).toEqual(all(join(folder, "chosen")));
  });

  it("has the notebooks of earlier versions where they lie", () => {
    vi.stubEnv("CELLAR_HOME", home());
    mkdirSync(join(home(), "notebooks", "me", "x"), { recursive: true });
    expect(userFolders().notebooks).toBe(home());
    mkdirSync(join(home(), "notebooks", "notebooks", "me", "x"), { recursive: true });
    expect(userFolders().notebooks).toBe(join(home(), "notebooks"));
    // A store of this version has its rooms beside: then that is a user of that name.
    mkdirSync(join(home(), "rooms"));
    expect(userFolders().notebooks).toBe(home());
  });
});
