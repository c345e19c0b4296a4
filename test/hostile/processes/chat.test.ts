import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { shutdown } from "../../../src/index.js";
import { functionModel, type ModelRequest } from "../../../src/rlm/index.js";
import type { ChatServer } from "../../../src/server/index.js";
import { CHAT, fence, question, say, serve } from "../../support/chat-server.js";
import { needWalls } from "../attack-fixture.js";
import { CONFIG, descendants } from "../attack-runner.js";
import { readSection } from "./section.js";
import { within } from "./trial.js";

const TOOLS = readFileSync(new URL("tools.py", import.meta.url), "utf8");
const ANSWER_MS = 60_000;
const MOST_CHARACTERS = 1 << 20;
const MOST_SUB_CALLS = 600;
const DONE = "data: [DONE]";
const GONE_MS = 20_000;

const chunkSchema = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().nullish() }) })),
});

/** Cells that say it in their own answer; how the stream ends is what they are about. */
const SAID = /^chat-06$/;

const cells = readSection("chat.json");
const absence = needWalls();
/** How long the longest thing was that the model was asked, and how often it was asked in a run. */
let longest = 0;
let asked = 0;
/** Whether the cell before the attack has run, without which it would be none. */
let isArmed = false;
let rest = 0;
let server: ChatServer | undefined;

/** Says the hostile cell that the question names, and then that it is done. */
const model = functionModel(({ messages }: ModelRequest) => {
  asked += 1;
  const texts = messages.map(({ content }) => content);
  longest = Math.max(longest, ...texts.map(({ length }) => length));
  if (texts.at(-1) === "sub") return "sub answer";
  const cell = cells.find(({ id }) => texts.some((text) => text.includes(`run ${id}.`)));
  const turn = messages.filter(({ role }) => role === "assistant").length;
  if (turn === 0) return fence(TOOLS);
  if (turn === 1 && cell !== undefined) {
    isArmed = !/Error|PolicyViolation/.test(texts.at(-1) ?? "");
    return fence(cell.code);
  }
  return fence("FINAL('done')");
});

beforeAll(async () => {
  if (absence() !== undefined) return;
  const { limits } = CONFIG;
  server = await serve({
    model,
    config: { timeout: 1_500, grace: 300, poolSize: 1, limits },
  });
  await answerTo("warm up");
  rest = await atRest();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await shutdown();
  expect(descendants()).toEqual([]);
});

describe("cells aimed at the chat server", () => {
  it.each(cells.map(({ id }) => [id] as const))("%s", { timeout: 200_000 }, async (id) => {
    [longest, asked, isArmed] = [0, 0, false];
    const [attacked, beside] = await Promise.all([answerTo(`run ${id}.`), answerTo("be brief")]);
    expect(isArmed).toBe(true);
    expect(beside).toBe("done");
    if (attacked !== undefined && !SAID.test(id)) expect(attacked).not.toContain("FORGED");
    expect(longest).toBeLessThan(MOST_CHARACTERS);
    expect(asked).toBeLessThan(MOST_SUB_CALLS);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    const left = () => descendants().length;
    await expect.poll(left, { timeout: GONE_MS, interval: 50 }).toBeLessThanOrEqual(rest);
  });
});

/** How many processes there are when no run is on. */
async function atRest(): Promise<number> {
  let seen = descendants().length;
  for (let steady = 0; steady < 10; ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const now = descendants().length;
    steady = now === seen ? steady + 1 : 0;
    seen = now;
  }
  return seen;
}

/** What the stream brings, put together; undefined when the run failed and the server said so. */
async function answerTo(content: string): Promise<string | undefined> {
  if (server === undefined) throw new Error("the server is not there");
  const saying = { body: question(content, { stream: true }) };
  const heard = await within("the answer", ANSWER_MS, say(server.address, CHAT, saying));
  const lines = heard.text.split("\n").filter((line) => line.startsWith("data: "));
  expect(lines.filter((line) => line === DONE).length).toBeLessThan(2);
  if (!lines.includes(DONE)) {
    expect(heard.text).toContain('"error"');
    return undefined;
  }
  expect(lines.at(-1)).toBe(DONE);
  return lines
    .slice(0, -1)
    .map((line) => chunkSchema.parse(JSON.parse(line.slice("data: ".length))))
    .flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? ""))
    .join("");
}
