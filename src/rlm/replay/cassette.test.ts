import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CellarError } from "../../errors.js";
import type { Model, ModelMessage, ModelReply } from "../model.js";
import { functionModel } from "../models/function-model.js";
import { scripted } from "../models/scripted.js";
import { CassetteRecorder, readCassette, recordModel } from "./cassette.js";
import { Replay, replayModel } from "./replay.js";

const SYSTEM: ModelMessage = { role: "system", content: "You look through a text.\nBe brief." };
const PRICE = { inputPerMillion: 2, outputPerMillion: 8 };

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cellar-cassette-"));
  path = join(folder, "run.jsonl");
});

afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

const user = (content: string): ModelMessage => ({ role: "user", content });

/** A conversation that grows: each answer is followed by what the caller says to it. */
async function converse(model: Model, says: readonly string[]): Promise<readonly ModelReply[]> {
  const messages: ModelMessage[] = [SYSTEM];
  const replies: ModelReply[] = [];
  for (const content of says) {
    messages.push(user(content));
    const reply = await model.complete({ messages, maxTokens: 100, temperature: 0, stop: ["X"] });
    messages.push({ role: "assistant", content: reply.text });
    replies.push(reply);
  }
  return replies;
}

async function record(model: Model, work: (model: Model) => Promise<unknown>, caller?: string) {
  await using recorder = await CassetteRecorder.open(path);
  return await work(recordModel(model, recorder, { caller }));
}

const SAYS = ["first", "REPL output:\n12\n13", "third \ud83e\udd86\u2028\r\n"];
const script = () => scripted(["one", "two", "three"], { name: "big", price: PRICE });

describe("a recorded model", () => {
  it("answers the same when it is replayed, with its price and window", async () => {
    const model = scripted(["one", "two", "three"], {
      name: "big",
      price: PRICE,
      contextWindow: 8_000,
    });
    const live = await record(model, (recorded) => converse(recorded, SAYS));
    const replay = await Replay.open(path);
    const replayed = replayModel(replay);
    expect(replayed).toMatchObject({ name: "big", price: PRICE, contextWindow: 8_000 });
    expect(await converse(replayed, SAYS)).toEqual(live);
    expect(replay.left).toBe(0);
    replay.finish();
  });

  it("writes a message once, however often it is sent", async () => {
    await record(script(), (model) => converse(model, SAYS));
    const text = readFileSync(path, "utf8");
    expect(text.split("You look through a text.")).toHaveLength(2);
    const { exchanges } = await readCassette(path);
    expect(exchanges.map(({ request }) => request.messages.length)).toEqual([2, 4, 6]);
    expect(exchanges[2]?.request).toEqual({
      messages: expect.arrayContaining([SYSTEM, user(SAYS[2] ?? "")]),
      maxTokens: 100,
      temperature: 0,
      stop: ["X"],
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("is heard while it answers, live and replayed", async () => {
    const heard: string[] = [];
    const onText = (piece: string) => heard.push(piece);
    const ask = (model: Model) => model.complete({ messages: [user("hello")], onText });
    await record(scripted(["world"]), ask);
    await ask(replayModel(await Replay.open(path)));
    expect(heard).toEqual(["world", "world"]);
    expect(readFileSync(path, "utf8")).not.toContain("onText");
  });

  it("fails again as it failed", async () => {
    const failing = functionModel(
      () => {
        throw new CellarError("REMOTE_ERROR", "the server said 503", { remedy: "Wait." });
      },
      { name: "down" },
    );
    const failure = { code: "REMOTE_ERROR", message: "the server said 503", remedy: "Wait." };
    const ask = (model: Model) => model.complete({ messages: [user("hello")] });
    await expect(record(failing, ask)).rejects.toMatchObject(failure);
    const replay = await Replay.open(path);
    await expect(ask(replayModel(replay))).rejects.toMatchObject(failure);
    replay.finish();
  });

  it("gives way to a signal", async () => {
    const ask = (model: Model, signal?: AbortSignal) =>
      model.complete({ messages: [user("hello")], signal });
    await record(scripted(["world"]), ask);
    const model = replayModel(await Replay.open(path));
    await expect(ask(model, AbortSignal.abort())).rejects.toMatchObject({ code: "ABORTED" });
  });

  it("is not written over another recording", async () => {
    await record(script(), (model) => converse(model, SAYS));
    await expect(CassetteRecorder.open(path)).rejects.toMatchObject({ code: "IO_ERROR" });
    expect((await readCassette(path)).exchanges).toHaveLength(3);
  });
});

describe("a divergence", () => {
  async function diverge(says: readonly string[], options = {}): Promise<CellarError> {
    await record(script(), (model) => converse(model, SAYS));
    const replay = await Replay.open(path, options);
    const error = await converse(replayModel(replay), says).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CellarError);
    expect(() => replay.finish()).toThrow(error as CellarError);
    return error as CellarError;
  }

  it("is told with the message and the line in which it is", async () => {
    const error = await diverge(["first", "REPL output:\n12\n14\nmore"]);
    expect(error).toMatchObject({ code: "CONFLICT", details: { played: 1, message: 3 } });
    expect(error.message).toBe(
      [
        "the run differs from its recording after 1 exchanges, when asking big: " +
          "message 4 (user) differs at line 3:",
        "  REPL output:",
        "  12",
        "- 13",
        "+ 14",
        "+ more",
      ].join("\n"),
    );
  });

  it("shows a long line where it differs", async () => {
    const long = "a".repeat(50_000);
    await record(script(), (model) => converse(model, [`${long}bc`]));
    const model = replayModel(await Replay.open(path));
    const error = await converse(model, [`${long}xc`]).catch((reason: CellarError) => reason);
    const { message } = error as CellarError;
    expect(message.length).toBeLessThan(1_000);
    expect(message).toMatch(/\n- …a+bc\n\+ …a+xc$/);
  });

  it("is told when the settings differ", async () => {
    const ask = (temperature?: number, maxTokens?: number) => (model: Model) =>
      model.complete({ messages: [SYSTEM], temperature, maxTokens });
    await record(script(), ask(1, 100));
    const model = replayModel(await Replay.open(path));
    await expect(ask(undefined, 100)(model)).rejects.toThrow(/temperature was 1, now not set/);
    // How long an answer may be follows from what is left of a budget, where many ask at once by chance.
    await ask(1, 99)(replayModel(await Replay.open(path)));
  });

  it("is told when more is asked than was recorded, and when less is", async () => {
    const error = await diverge([...SAYS, "fourth"]);
    expect(error.message).toMatch(/after 3 exchanges, when asking big: the recording has no more/);
    const replay = await Replay.open(path);
    await converse(replayModel(replay), SAYS.slice(0, 1));
    expect(() => replay.finish()).toThrow(/ended early: 2 of 3 .* asks big: REPL output/);
  });

  it("ends the replay: what comes after it fails as well", async () => {
    await record(script(), (model) => converse(model, SAYS));
    const model = replayModel(await Replay.open(path));
    await expect(converse(model, ["other"])).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(converse(model, SAYS)).rejects.toThrow(/\+ other/);
  });

  it("is none where only what is ignored differs", async () => {
    const says = (seconds: number) => [`You have ${seconds} s left.`, `<f at 0x7f${seconds}>`];
    await record(script(), (model) => converse(model, says(12)));
    const replay = await Replay.open(path, { ignore: [/\d+ s left/, /0x[0-9a-f]+/g] });
    await converse(replayModel(replay), says(99));
    replay.finish();
    await expect(converse(replayModel(await Replay.open(path)), says(99))).rejects.toMatchObject({
      code: "CONFLICT",
    });
  });
});

describe("requests at the same time", () => {
  const prompts = Array.from({ length: 40 }, (_, index) => `chunk ${index}`);
  const echo = functionModel(
    async ({ messages }) => {
      const text = messages.at(-1)?.content ?? "";
      const turns = (Number(text.split(" ")[1]) * 7) % 5;
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
      return `about ${text}`;
    },
    { name: "small" },
  );
  const askAll = (model: Model, order: readonly string[]) =>
    Promise.all(order.map((prompt) => model.complete({ messages: [user(prompt)] })));

  it("find their answers in whatever order they come", async () => {
    for (const caller of [undefined, "root"]) {
      rmSync(path, { force: true });
      const live = await record(echo, (model) => askAll(model, prompts), caller);
      const replay = await Replay.open(path);
      const replies = await askAll(replayModel(replay, { caller }), prompts.toReversed());
      expect(replies.toReversed()).toEqual(live);
      replay.finish();
    }
  });

  it("that match none are compared with the closest", async () => {
    await record(echo, (model) => askAll(model, ["alpha 1", "beta 2", "gamma 3"]));
    const model = replayModel(await Replay.open(path));
    await expect(askAll(model, ["beta 5"])).rejects.toThrow(/- beta 2\n\+ beta 5$/);
  });

  it("that are the same get their answers in order", async () => {
    const same = ["again", "again", "again"];
    await record(script(), (model) => askAll(model, same));
    const replies = await askAll(replayModel(await Replay.open(path)), same);
    expect(replies.map(({ text }) => text)).toEqual(["one", "two", "three"]);
  });

  it("have an order where a caller waited for one before the next", async () => {
    const inTurn = async (model: Model, order: readonly string[]) => {
      for (const prompt of order) await model.complete({ messages: [user(prompt)] });
    };
    await record(echo, (model) => inTurn(model, ["chunk 1", "chunk 2"]), "root");
    const swapped = replayModel(await Replay.open(path), { caller: "root" });
    await expect(inTurn(swapped, ["chunk 2", "chunk 1"])).rejects.toThrow(/- chunk 1\n\+ chunk 2/);
    rmSync(path);
    await record(echo, (model) => inTurn(model, ["chunk 1", "chunk 2"]));
    const replay = await Replay.open(path);
    await inTurn(replayModel(replay), ["chunk 2", "chunk 1"]);
    replay.finish();
  });

  it("of two models and two callers are kept apart", async () => {
    const ask = (model: Model) => model.complete({ messages: [user("hello")] });
    const callers = ["0", "0.1"];
    {
      await using recorder = await CassetteRecorder.open(path);
      for (const name of ["big", "small"]) {
        for (const caller of callers) {
          const model = scripted([`${name} to ${caller}`], { name });
          await ask(recordModel(model, recorder, { caller }));
        }
      }
    }
    const replay = await Replay.open(path);
    for (const name of ["small", "big"]) {
      for (const caller of callers.toReversed()) {
        const { text } = await ask(replayModel(replay, { name, caller }));
        expect(text).toBe(`${name} to ${caller}`);
      }
    }
    replay.finish();
    expect(() => replayModel(replay, { name: "huge" })).toThrow(/no model huge/);
  });
});

describe("a recording in a file", () => {
  it("that was cut off is played as far as it goes", async () => {
    await record(script(), (model) => converse(model, SAYS));
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.slice(0, -30));
    expect((await readCassette(path)).exchanges).toHaveLength(2);
  });

  it("that was changed is refused, with the line", async () => {
    await record(script(), (model) => converse(model, SAYS));
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replace("Be brief", "Be long"));
    await expect(readCassette(path)).rejects.toMatchObject({
      code: "DAMAGED",
      details: { line: 2 },
    });
    writeFileSync(path, text.replace(/^.*"type":"message".*\n/m, ""));
    await expect(readCassette(path)).rejects.toThrow(/refers to the message \w+, which is missing/);
    writeFileSync(path, text);
    appendFileSync(path, '{"type":"exchange"}\n');
    await expect(readCassette(path)).rejects.toThrow(/run\.jsonl:\d+ is not a line of a recording/);
  });
});
