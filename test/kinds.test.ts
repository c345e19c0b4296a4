import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import * as agent from "../src/agent/index.js";
import * as main from "../src/index.js";
import * as recursive from "../src/rlm/index.js";
import * as server from "../src/server/index.js";
import { openTools, toAnthropicToolResult, toOpenAIMessages } from "../src/tools/index.js";

/** The exports as code without types sees them. */
type Loose = Readonly<Record<string, (...given: unknown[]) => unknown>>;
const cellar = { ...main, ...agent, ...recursive, ...server };
const loose = cellar as unknown as Loose;
const { AgentRepl, Notebook } = cellar as unknown as Readonly<Record<string, Loose>>;

const dir = mkdtempSync(join(tmpdir(), "cellar-kinds-"));
const model = cellar.scripted([]);
afterAll(async () => {
  await cellar.shutdown();
  rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
});

const KINDS: Readonly<Record<string, unknown>> = {
  null: null,
  "a boolean": true,
  "a string": "x",
  "a number": 5,
  "a bigint": 2n,
  "a symbol": Symbol("s"),
  "a function": () => 1,
  "an object": { x: 1n },
  "a list": [null],
};

const circular: Record<string, unknown> = {};
circular.itself = circular;

const NATIVE = { backend: "native", preload: "none", poolSize: 0 };
const PLACE = { user: "u", session: "s", dir, preload: "none", poolSize: 0 };
const LINES = { model, config: NATIVE, agent: { spillDir: join(dir, "spill") }, query: "q" };

/** Where the option goes, its name, and which kinds of it are right. */
const OPTIONS: [string, string, (option: object) => unknown, string[]][] = [
  ...["mounts", "signal", "grace", "limits", "preload", "env"].map(
    (name): (typeof OPTIONS)[number] => [
      "createSandbox",
      name,
      (option) => loose.createSandbox?.({ ...NATIVE, ...option }),
      // These are judged by their schema.
      [],
    ],
  ),
  ...["mounts", "signal", "timeout", "runtime", "store"].map((name): (typeof OPTIONS)[number] => [
    "Notebook.open",
    name,
    (option) => Notebook?.open?.({ ...PLACE, ...option }),
    [],
  ]),
  ...["config", "embedder", "summarise"].map((name): (typeof OPTIONS)[number] => [
    "AgentRepl.open",
    name,
    (option) => AgentRepl?.open?.({ spillDir: join(dir, "spill"), config: NATIVE, ...option }),
    name === "summarise" ? ["a function"] : [],
  ]),
  ...["signal", "models", "config", "onEvent", "trace", "record", "compactAt", "budget"].map(
    (name): (typeof OPTIONS)[number] => [
      "rlm",
      name,
      (option) => loose.rlm?.({ ...LINES, ...option }),
      rightOf(name),
    ],
  ),
  ...["mounts", "signal", "runtime", "timeout"].map((name): (typeof OPTIONS)[number] => [
    "runOnce",
    name,
    (option) => loose.runOnce?.({ code: "1", preload: "none", poolSize: 0, ...option }),
    name === "timeout" ? ["a number"] : [],
  ]),
  ...["models", "subModel", "key", "onEvent", "port"].map((name): (typeof OPTIONS)[number] => [
    "createChatServer",
    name,
    (option) => loose.createChatServer?.({ model, ...option }),
    name === "onEvent" ? ["a function"] : name === "port" ? ["a number"] : [],
  ]),
  ...["runtime", "only"].map((name): (typeof OPTIONS)[number] => [
    "openTools",
    name,
    (option) => openTools({ dir, user: "u", ...option }),
    [],
  ]),
];

/** What a question of `rlm` may have there; a bad setting in an object is told by its result. */
function rightOf(name: string): string[] {
  switch (name) {
    case "onEvent":
      return ["a function"];
    case "trace":
    case "record":
      return ["a string"];
    case "config":
      return ["an object"];
    default:
      return [];
  }
}

describe("an option of a wrong kind", () => {
  it.each(OPTIONS)("of %s is refused: %s", async (_, name, call, right) => {
    const kinds = Object.entries(KINDS).filter(([kind]) => !right.includes(kind));
    // A right one at the wrong place: a whole number where one is wanted.
    const judged = ["grace", "timeout"].includes(name) ? ["a number"] : [];
    for (const [kind, value] of kinds) {
      if (judged.includes(kind)) continue;
      const error = await failureOf(() => call({ [name]: value }));
      expect([kind, error]).toEqual([kind, expect.any(cellar.CellarError)]);
      expect(error).toMatchObject({ code: expect.stringMatching(/^INVALID_(INPUT|CONFIG)$/) });
    }
  });

  it("tells its name", async () => {
    const told: [string, unknown, string][] = [
      ["mounts", true, "mounts must be a list, not a boolean"],
      ["mounts", null, "mounts must be a list, not null"],
      ["mounts", "x", "mounts must be a list, not a string"],
      ["signal", "x", "signal must be an AbortSignal, not a string"],
      ["grace", 2n, "grace must be a plain value, not a bigint"],
      ["limits", { memoryMb: 2n }, "limits.memoryMb must be a plain value, not a bigint"],
      ["timeout", Symbol("s"), "timeout must be a plain value, not a symbol"],
      ["limits", circular, "limits.itself must be a plain value, but contains itself"],
      ["limits", new Map(), "limits must be a plain value, not an instance of Map"],
    ];
    for (const [name, value, message] of told) {
      const error = await failureOf(() => loose.createSandbox?.({ ...NATIVE, [name]: value }));
      expect(error).toMatchObject({ code: "INVALID_INPUT", message });
    }
  });

  it("is no option at all", async () => {
    const calls: Readonly<Record<string, (given: unknown) => unknown>> = {
      "AgentRepl.open": (given) => AgentRepl?.open?.(given),
      "Notebook.open": (given) => Notebook?.open?.(given),
      "Notebook.list": (given) => Notebook?.list?.(given),
      rlm: loose.rlm ?? fail,
      runOnce: loose.runOnce ?? fail,
      createChatServer: loose.createChatServer ?? fail,
      openAIChat: loose.openAIChat ?? fail,
      anthropicMessages: loose.anthropicMessages ?? fail,
      scripted: loose.scripted ?? fail,
      loadContext: loose.loadContext ?? fail,
      renderTracePage: loose.renderTracePage ?? fail,
      readTrace: loose.readTrace ?? fail,
      OpenAIEmbedder: (given) => new cellar.OpenAIEmbedder(given as never),
      openTools: (given) => openTools(given as never),
      toOpenAIMessages: (given) => toOpenAIMessages(given as never),
      toAnthropicToolResult: (given) => toAnthropicToolResult("id", given as never),
    };
    for (const [name, call] of Object.entries(calls)) {
      for (const value of [null, 5, 2n, Symbol("s"), true]) {
        const error = await failureOf(() => call(value));
        expect([name, typeof value, error]).toEqual([
          name,
          typeof value,
          expect.any(cellar.CellarError),
        ]);
      }
    }
  });
});

describe("an argument of a wrong kind", () => {
  it("of a sandbox is refused, and the sandbox goes on", async (context) => {
    const made = await cellar
      .createSandbox({ ...NATIVE, backend: "native" } as main.REPLConfig)
      .catch((error: Error) => error);
    if (made instanceof Error) return context.skip(made.message);
    await using sandbox = made;
    const given = sandbox as unknown as Loose;
    for (const value of [null, true, "x", 2n, Symbol("s"), {}]) {
      const calls = [
        () => given.execute?.("1", { signal: value }),
        () => given.execute?.("1", { timeout: value }),
        () => given.setVariable?.(value === "x" ? 5 : value, 1),
        ...(typeof value === "object" && value !== null ? [] : [() => given.execute?.("1", value)]),
      ];
      for (const call of calls) {
        expect(await failureOf(call)).toMatchObject({ code: "INVALID_INPUT" });
      }
    }
    expect((await sandbox.execute("6 * 7")).result?.["text/plain"]).toBe("42");
  });
});

async function failureOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return undefined;
}

function fail(): never {
  throw new Error("it is not exported");
}
