import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { resolveSettings, settingLayers, userFolders } from "./config.js";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cellar-config-test-"));
  vi.stubEnv("XDG_CONFIG_HOME", join(folder, "config"));
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const resolve = (options: object = {}) => resolveSettings(options, settingLayers(folder));

describe("settings", () => {
  it("have defaults", () => {
    expect(resolve()).toMatchObject({
      timeout: 30_000,
      maxOutputLength: 50_000,
      minIsolation: "L3-",
      checkpoints: "always",
      keepCheckpoints: 10,
    });
  });

  it("take options before the environment, the project's file and the user's file", () => {
    mkdirSync(join(folder, "config", "cellar"), { recursive: true });
    writeFileSync(
      join(folder, "config", "cellar", "config.json"),
      JSON.stringify({ timeout: 1, grace: 1, poolSize: 1, limits: { memoryMb: 1, tmpMb: 1 } }),
    );
    writeFileSync(
      join(folder, "cellar.config.json"),
      JSON.stringify({ timeout: 2, grace: 2, poolSize: 2, limits: { memoryMb: 2 } }),
    );
    vi.stubEnv("CELLAR_TIMEOUT", "3");
    vi.stubEnv("CELLAR_POOL_SIZE", "3");
    vi.stubEnv("CELLAR_LIMITS_MEMORY_MB", "3");
    vi.stubEnv("CELLAR_PRELOAD", "standard");
    expect(resolve({ timeout: 4 })).toMatchObject({
      timeout: 4,
      poolSize: 3,
      grace: 2,
      preload: "standard",
      limits: { memoryMb: 3, tmpMb: 1 },
    });
  });

  it("name what does not fit, and what is known", () => {
    expect(() => resolve({ timeuot: 5 })).toThrow(/unknown option "timeuot"/);
    expect(() => resolve({ limits: { memory: 5 } })).toThrow(/unknown option "limits.memory"/);
    expect(() => resolve({ timeout: "soon" })).toThrow(/timeout/);
    expect(() => resolve({ timeout: -1 })).toThrowError(
      expect.objectContaining({ code: "INVALID_CONFIG" }),
    );
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
