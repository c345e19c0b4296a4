import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import * as agent from "../src/agent/index.js";
import * as main from "../src/index.js";
import * as recursive from "../src/rlm/index.js";
import * as server from "../src/server/index.js";
import { openTools } from "../src/tools/index.js";

/** The exports as code without types sees them. */
type Loose = Readonly<Record<string, (...given: unknown[]) => unknown>>;
const cellar = { ...main, ...agent, ...recursive, ...server };
const loose = cellar as unknown as Loose;
const { AgentRepl, Notebook, RLMSession } = cellar as unknown as Readonly<Record<string, Loose>>;

const dir = mkdtempSync(join(tmpdir(), "cellar-names-"));
const model = cellar.scripted([]);
afterAll(async () => {
  await cellar.shutdown();
  rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
});

const NATIVE = { backend: "native", preload: "none", poolSize: 0 } as const;
const PLACE = { user: "u", session: "s", dir, preload: "none", poolSize: 0 } as const;
const ASKED = { model, query: "q" };

/** A wrong option, who is given it, and the words that must come. */
const MISTAKES: [string, (option: object) => unknown, object, string][] = [
  ["createSandbox", (o) => loose.createSandbox?.({ ...NATIVE, ...o }), { timout: 5 }, "timeout?"],
  ["createSandbox", (o) => loose.createSandbox?.({ ...NATIVE, ...o }), { mount: [] }, "mounts?"],
  ["mounts", (o) => loose.createSandbox?.({ ...NATIVE, mounts: [o] }), { read: true }, "readonly?"],
  ["AgentRepl.open", (o) => AgentRepl?.open?.(o), { preload: "none" }, "config: { preload }"],
  ["AgentRepl.open", (o) => AgentRepl?.open?.(o), { contxt: "text" }, "context?"],
  ["redact", (o) => AgentRepl?.open?.({ redact: o }), { exept: [] }, "except?"],
  ["Notebook.open", (o) => Notebook?.open?.({ ...PLACE, ...o }), { takover: true }, "takeover?"],
  ["Notebook.open", (o) => Notebook?.open?.({ ...PLACE, ...o }), { maxCels: 5 }, "maxCells?"],
  ["Notebook.list", (o) => Notebook?.list?.({ dir, ...o }), { usr: "u" }, "user?"],
  ["Notebook.remove", (o) => Notebook?.remove?.({ ...PLACE, ...o }), { force: true }, "session"],
  ["runOnce", (o) => loose.runOnce?.({ code: "1", ...o }), { captureStat: true }, "captureState?"],
  ["rlm", (o) => loose.rlm?.({ ...ASKED, ...o }), { contxt: "x" }, "context?"],
  ["rlm", (o) => loose.rlm?.({ ...ASKED, ...o }), { timeout: 5 }, "config: { timeout }"],
  ["RLMSession.open", (o) => RLMSession?.open?.({ model, ...o }), { dept: 1 }, "depth?"],
  ["budget", (o) => loose.rlm?.({ ...ASKED, budget: o }), { dolars: 1 }, "dollars?"],
  ["createChatServer", (o) => loose.createChatServer?.({ model, ...o }), { prt: 1 }, "port?"],
  ["openAIChat", (o) => loose.openAIChat?.({ model: "m", ...o }), { baseURL: "x" }, "baseUrl?"],
  ["anthropicMessages", (o) => loose.anthropicMessages?.({ model: "m", ...o }), { max: 1 }, "max"],
  ["functionModel", (o) => loose.functionModel?.(() => "", o), { nme: "x" }, "name?"],
  ["scripted", (o) => loose.scripted?.([o]), { txt: "x" }, "text?"],
  ["price", (o) => loose.scripted?.([], { price: o }), { input: 1 }, "inputPerMillion"],
  ["loadContext", (o) => loose.loadContext?.("x", o), { onNotes: () => {} }, "onNote?"],
  ["OpenAIEmbedder", (o) => new cellar.OpenAIEmbedder(o as never), { baseURL: "x" }, "baseUrl?"],
  ["OpenAIEmbedder", (o) => new cellar.OpenAIEmbedder(o as never), { keyName: "x" }, "key: {"],
  ["ResearchContext", (o) => new cellar.ResearchContext(o), { maxNode: 5 }, "maxNodes?"],
  ["NativeRuntime", (o) => new cellar.NativeRuntime(o), { wals: true }, "walls?"],
  ["openTools", (o) => openTools({ dir, user: "u", ...o }), { onl: [] }, "only?"],
];

describe("an option that nobody knows", () => {
  it.each(MISTAKES)(
    "is refused by %s, with the name that was meant",
    async (_, call, option, words) => {
      const error = await failureOf(() => call(option));
      expect(error).toMatchObject({
        code: "INVALID_CONFIG",
        message: expect.stringMatching(/unknown option/),
        remedy: expect.stringMatching(/^Options are: \w+/),
      });
      expect(`${error?.message} ${error?.remedy}`).toContain(words);
    },
  );

  it("is told what options look like, where none were given", async () => {
    const told: [string, () => unknown, string][] = [
      ["AgentRepl.open", () => AgentRepl?.open?.("text"), '{ context: "text"'],
      ["Notebook.open", () => Notebook?.open?.("sales"), '{ user: "ann", session: "sales"'],
      ["runOnce", () => loose.runOnce?.("1 + 1"), '{ code: "1 + 1" }'],
      ["rlm", () => loose.rlm?.("why?"), "{ query, context, model }"],
      ["openAIChat", () => loose.openAIChat?.("gpt"), '{ model: "name" }'],
      ["createChatServer", () => loose.createChatServer?.("gpt"), "{ model }"],
      ["openTools", () => openTools("dir" as never), '{ dir: "./notebooks", user: "ann" }'],
    ];
    for (const [name, call, example] of told) {
      const error = await failureOf(call);
      expect([name, error?.message]).toEqual([name, expect.stringContaining(example)]);
      expect(error?.message).toContain("not a string");
    }
  });

  it("of a value that does not fit is told in a sentence", async () => {
    const server = await failureOf(() => loose.createChatServer?.({ model, port: "80" }));
    expect(server?.message).toContain('option port must be a number, not "80"');
    const agent = await failureOf(() => AgentRepl?.open?.({ outputCap: 5 }));
    expect(agent?.message).toContain("option outputCap must be at least 200, not 5");
    const budget = await failureOf(() => loose.rlm?.({ ...ASKED, budget: { turns: -1 } }));
    expect(budget?.message).toContain("option turns must be more than 0, not -1");
    const key = await failureOf(() => loose.createChatServer?.({ model, name: "a b" }));
    expect(key?.message).toMatch(/option name must be up to 100 letters.*, not "a b"/);
  });

  it("is refused by the methods of a live session, which goes on", async (context) => {
    const opened = await cellar.createSandbox(NATIVE).catch((error: Error) => error);
    if (opened instanceof Error) return context.skip(opened.message);
    await using sandbox = opened;
    await using agent = await cellar.AgentRepl.open({
      spillDir: join(dir, "spill"),
      config: NATIVE,
    });
    await using notebook = await cellar.Notebook.open(PLACE);
    const [cells, turns, book] = [sandbox, agent, notebook] as unknown as Loose[];
    const calls: [string, () => unknown, string][] = [
      ["execute", () => cells?.execute?.("1", { timout: 5 }), "timeout?"],
      ["turn", () => turns?.turn?.("1", { timout: 5 }), "timeout?"],
      ["run", () => book?.run?.("1", { timout: 5 }), "timeout?"],
      ["start", () => book?.start?.("1", { sgnal: 5 }), "signal?"],
      ["replay", () => book?.replay?.({ timout: 5 }), "timeout?"],
      ["fork", () => book?.fork?.("twin", { usr: "u" }), "user?"],
      ["getFile", () => book?.getFile?.("x", { maxByte: 5 }), "maxBytes?"],
    ];
    for (const [name, call, words] of calls) {
      const error = await failureOf(call);
      expect([name, error?.message]).toEqual([name, expect.stringContaining("unknown option")]);
      expect(error?.message).toContain(words);
    }
    expect((await sandbox.execute("6 * 7")).result?.["text/plain"]).toBe("42");
    expect((await notebook.run("6 * 7")).state).toBe("COMPLETED");
  });
});

async function failureOf(call: () => unknown): Promise<main.CellarError | undefined> {
  try {
    await call();
  } catch (error) {
    if (error instanceof cellar.CellarError) return error;
    throw error;
  }
  return undefined;
}
