import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeServer } from "../../../test/support/rlm/fake-model-server.js";
import { CellarError } from "../../errors.js";
import type { Model, ModelMessage } from "../model.js";
import type { HttpModelOptions } from "./http-model.js";

export const KEY_NAME = "CELLAR_TEST_MODEL_KEY";
export const KEY = "sk-test/8f3a1c5d7e";

export const QUESTION: readonly ModelMessage[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "What is it?" },
];

export interface Provider {
  readonly name: string;
  readonly make: (options: HttpModelOptions) => Model;
  /** The provider's word for an answer that was cut. */
  readonly cut: string;
  /** Events before the first one with text. */
  readonly before: number;
}

export async function failureOf(work: Promise<unknown>): Promise<CellarError> {
  const error: unknown = await work.then(
    () => new Error("it went well"),
    (reason: unknown) => reason,
  );
  if (error instanceof CellarError) return error;
  throw error;
}

/** What every model behind an address must do, whatever it speaks. */
export function describeProvider({ name, make, cut, before }: Provider): void {
  let server: FakeServer;
  beforeEach(async () => {
    server = await FakeServer.open();
    process.env[KEY_NAME] = KEY;
  });
  afterEach(async () => {
    delete process.env[KEY_NAME];
    await server[Symbol.asyncDispose]();
  });

  const model = (options: Partial<HttpModelOptions> = {}) =>
    make({ model: "tiny", baseUrl: server.baseUrl, retryDelay: 1, ...options });
  const ask = async (made: Model, signal?: AbortSignal) => {
    const heard: string[] = [];
    const request = { messages: QUESTION, signal, onText: (piece: string) => heard.push(piece) };
    const reply = await made.complete(request);
    return { ...reply, heard };
  };

  describe(`${name}: answers`, () => {
    it.each([true, false])("come whole, with stream: %s", async (stream) => {
      server.inOrder({ text: "It is a tree. 🌳\n", model: "tiny-2", finish: cut });
      const { heard, ...reply } = await ask(model({ stream }));
      expect(reply).toEqual({
        text: "It is a tree. 🌳\n",
        usage: { inputTokens: 11, outputTokens: 7, isEstimate: false },
        finish: "length",
        model: "tiny-2",
      });
      expect(heard.join("")).toBe(reply.text);
      expect(heard).toHaveLength(stream ? 5 : 1);
      expect(server.requests[0]?.body.stream).toBe(stream);
    });

    it("may be empty", async () => {
      server.inOrder({ text: "", usage: { output: 0 } });
      const { text, heard, usage } = await ask(model());
      expect({ text, heard, usage }).toEqual({
        text: "",
        heard: [],
        usage: { inputTokens: 11, outputTokens: 0, isEstimate: false },
      });
    });

    it.each(["missing" as const, { input: 0, output: 0 }, { input: -3, output: 1.5 }])(
      "have their tokens counted here where the usage is %j",
      async (usage) => {
        server.inOrder({ text: "one two three", thoughts: ["four ", "five"], usage });
        const counted = (await ask(model())).usage;
        expect(counted).toEqual({ inputTokens: 18, outputTokens: 5, isEstimate: true });
      },
    );

    it("keep thoughts to themselves", async () => {
      server.inOrder({ text: "Yes.", thoughts: ["Hm, ", "well."] });
      expect((await ask(model())).heard).toEqual(["Yes."]);
    });

    it("may come in one piece though a stream was wanted", async () => {
      server.inOrder({ text: "At once.", isWhole: true });
      expect(await ask(model())).toMatchObject({ text: "At once.", heard: ["At once."] });
    });

    it("may take longer than any silence in them", async () => {
      server.inOrder({ text: "a b c d", paceMs: 300 });
      expect((await ask(model({ idleTimeout: 1500 }))).text).toBe("a b c d");
    });

    it("use one connection again", async () => {
      for (let turn = 0; turn < 12; turn += 1) await ask(model());
      expect(server.connections).toBeLessThan(6);
    });

    it("come for many at once, with one signal for all", async () => {
      const warnings: Error[] = [];
      const warn = (warning: Error) => warnings.push(warning);
      process.on("warning", warn);
      const { signal } = new AbortController();
      server.answer = ({ body }) => `${body.messages.at(-1)?.content}!`;
      const made = model();
      const replies = await Promise.all(
        Array.from({ length: 64 }, (_, index) =>
          made.complete({ messages: [{ role: "user", content: `${index}` }], signal }),
        ),
      );
      await new Promise(setImmediate);
      process.off("warning", warn);
      expect(replies.map(({ text }) => text)).toEqual(replies.map((_, index) => `${index}!`));
      expect(warnings).toEqual([]);
    });
  });

  describe(`${name}: what passes`, () => {
    it.each([408, 429, 500, 503, 529])("is asked again after a %i", async (status) => {
      const busy = { status, body: "busy", headers: { "retry-after": "0" } };
      server.inOrder(busy, busy, "Well.");
      expect((await ask(model())).text).toBe("Well.");
      expect(server.requests).toHaveLength(3);
    });

    it("is not asked again where the endpoint says that it would not help", async () => {
      server.inOrder({ status: 502, body: "no", headers: { "x-should-retry": "false" } }, "Well.");
      await expect(ask(model())).rejects.toMatchObject({ code: "REMOTE_ERROR" });
      expect(server.requests).toHaveLength(1);
    });

    it("is asked again after a lost connection, a broken piece and an early end", async () => {
      server.inOrder(
        { text: "a b c", dropAfter: before },
        { text: "a b c", breakAt: 0 },
        { raw: [] },
        "Well.",
      );
      expect(await ask(model())).toMatchObject({ text: "Well.", heard: ["Well."] });
      expect(server.requests).toHaveLength(4);
    });

    it("is asked again after silence", async () => {
      server.inOrder({ text: "a b c", hangAfter: before }, "Well.");
      expect((await ask(model({ idleTimeout: 1000 }))).text).toBe("Well.");
      expect(server.requests).toHaveLength(2);
    });

    it("is never said twice", async () => {
      server.inOrder({ text: "one two three", dropAfter: before + 2 }, "Again.");
      const heard: string[] = [];
      const request = { messages: QUESTION, onText: (piece: string) => heard.push(piece) };
      const error = await failureOf(model().complete(request));
      expect(heard).toEqual(["one ", "two "]);
      expect(error.code).toBe("REMOTE_ERROR");
      expect(error.details).toMatchObject({ attempts: 1, usage: { isEstimate: true } });
      expect(server.requests).toHaveLength(1);
    });

    it("is asked again where nobody listened, and paid for twice", async () => {
      const messages = QUESTION;
      server.inOrder({ text: "one two three", dropAfter: before + 2, usage: "missing" }, "Again.");
      const reply = await model().complete({ messages });
      expect(reply.text).toBe("Again.");
      expect(reply.usage).toEqual({ inputTokens: 29, outputTokens: 10, isEstimate: true });
    });

    it("is given up after some attempts", async () => {
      server.inOrder({ status: 503, body: { error: { message: "over\nloaded" } } });
      const error = await failureOf(ask(model({ retries: 2 })));
      expect(error.message).toBe(`${server.origin}: HTTP 503: over loaded (3 attempts)`);
      expect(error.details).toEqual({ model: "tiny", attempts: 3, status: 503 });
      expect(server.requests).toHaveLength(3);
    });

    it("is not waited for longer than there is time", async () => {
      server.inOrder({ status: 429, headers: { "retry-after": "50" } });
      const error = await failureOf(ask(model({ timeout: 5000 })));
      expect(error).toMatchObject({ details: { status: 429, attempts: 1 } });
    });

    it("gets better under load", async () => {
      await using shaky = await FakeServer.open({ errorRate: 0.3 });
      const made = model({ baseUrl: shaky.baseUrl, retries: 20 });
      const replies = await Promise.all(Array.from({ length: 40 }, () => ask(made)));
      expect(new Set(replies.map(({ text }) => text))).toEqual(new Set(["Hello."]));
      expect(shaky.requests.length).toBeGreaterThan(40);
    });
  });

  describe(`${name}: what lasts`, () => {
    it.each([
      [302, {}, "Check the base URL"],
      [400, { code: "context_length_exceeded" }, "Send a shorter prompt."],
      [401, {}, "give key: {"],
      [404, {}, "Check the base URL"],
      [429, { code: "insufficient_quota" }, "Check the quota"],
    ])("is asked once: %i %j", async (status, error, remedy) => {
      server.inOrder({ status, body: { error: { message: "no", ...error } } });
      const failure = await failureOf(ask(model()));
      expect(failure).toMatchObject({ code: "REMOTE_ERROR", details: { status, attempts: 1 } });
      expect(failure.message).toBe(`${server.origin}: HTTP ${status}: no`);
      expect(failure.remedy).toContain(remedy);
      expect(server.requests).toHaveLength(1);
    });

    it.each([
      ["a page", { raw: ["<html>"], headers: { "content-type": "text/html" } }, "a web page"],
      ["another shape", { body: { nothing: 1 } }, "does not have the expected form"],
      ["an error", { body: { error: { message: "so sad" } } }, "it broke off: so sad"],
    ])("does not take %s for an answer", async (_, turn, message) => {
      server.inOrder(turn);
      const failure = await failureOf(ask(model()));
      expect(failure).toMatchObject({ code: "REMOTE_ERROR", details: { attempts: 1 } });
      expect(failure.message).toContain(message);
    });

    it("ends when the whole time is up, also where it keeps making noise", async () => {
      const noise = Array.from({ length: 2_000_000 }, () => ": still here\n\n");
      server.inOrder({ raw: noise });
      const error = await failureOf(ask(model({ timeout: 1500, idleTimeout: 1000 })));
      expect(error.message).toBe(`${server.origin}: no whole answer within 1.5 s`);
      expect(error.remedy).toBe("Raise timeout.");
      server.inOrder({ text: "late", latencyMs: 60_000 });
      const late = await failureOf(ask(model({ timeout: 300, stream: false })));
      expect(late.message).toBe(`${server.origin}: no whole answer within 0.3 s`);
    });

    it("has an end where the answer has none", async () => {
      const flood = new Uint8Array(1024 * 1024).fill(97);
      server.inOrder({ raw: Array.from({ length: 80 }, () => flood) });
      const error = await failureOf(ask(model()));
      expect(error.message).toContain("an event has over");
    });

    it("is left alone when it is not wanted: before, during and between", async () => {
      const aborted = { code: "ABORTED" };
      expect(await failureOf(ask(model(), AbortSignal.abort()))).toMatchObject(aborted);
      expect(server.requests).toHaveLength(0);

      const during = new AbortController();
      server.inOrder({ text: "one two three", hangAfter: before + 1 });
      const onText = () => during.abort();
      const request = { messages: QUESTION, signal: during.signal, onText };
      const error = await failureOf(model().complete(request));
      expect(error).toMatchObject({ ...aborted, details: { usage: { isEstimate: true } } });

      const between = new AbortController();
      server.answer = () => {
        setTimeout(() => between.abort(), 50);
        return { status: 429, headers: { "retry-after": "20" } };
      };
      expect(await failureOf(ask(model(), between.signal))).toMatchObject(aborted);
      expect(server.requests).toHaveLength(2);
    });

    it("lets what a listener throws through", async () => {
      const onText = () => {
        throw new TypeError("not today");
      };
      const work = model().complete({ messages: QUESTION, onText });
      await expect(work).rejects.toThrow(TypeError);
      expect(server.requests).toHaveLength(1);
    });
  });

  describe(`${name}: the key`, () => {
    it("never appears in what is told, however it is repeated", async () => {
      const echo = { message: `bad key ${KEY}, ${encodeURIComponent(KEY)}`, code: KEY };
      const escaped = JSON.stringify({ error: echo }).replaceAll("/", "\\/");
      const header = "another-secret-1";
      const make = (more: Partial<HttpModelOptions>) =>
        model({ headers: { "x-more": header }, retries: 0, ...more });
      const told: unknown[] = [];
      for (const key of [KEY, { env: KEY_NAME }]) {
        for (const body of [escaped, `<${KEY}> ${header}`, { error: echo }]) {
          for (const status of [401, 500]) {
            server.inOrder({ status, body });
            told.push(make({ key }), await failureOf(ask(make({ key }))));
          }
        }
        server.inOrder({ raw: [`data: {"error": {"message": "${KEY}", "type": "${KEY}"}}\n\n`] });
        told.push(await failureOf(ask(make({ key }))));
        const broken = async () => {
          throw new Error(`cannot send ${KEY}`);
        };
        told.push(await failureOf(ask(make({ key, fetch: broken }))));
      }
      const shown = inspect(told, { depth: 9, showHidden: true }) + JSON.stringify(told);
      expect(shown).toContain("[hidden]");
      for (const secret of [KEY, header, encodeURIComponent(KEY), KEY.replace("/", "\\/")]) {
        expect(shown).not.toContain(secret);
      }
      expect(server.requests.every(({ headers }) => JSON.stringify(headers).includes(KEY))).toBe(
        true,
      );
    });

    it("is asked for where it is missing or odd", async () => {
      delete process.env[KEY_NAME];
      const missing = await failureOf(ask(model({ key: { env: KEY_NAME } })));
      expect(missing).toMatchObject({ code: "INVALID_CONFIG", message: `${KEY_NAME} is not set` });
      const odd = await failureOf(ask(model({ key: "se\ncret" })));
      expect(odd.message).toBe("the key has characters that are not allowed in a key");
      expect(() => model({ headers: { "x-key": "se\ncret" } })).toThrow(
        "headers has an invalid name or value",
      );
    });

    it("does not go where a redirect points", async () => {
      await using other = await FakeServer.open();
      server.inOrder({ status: 307, headers: { location: `${other.baseUrl}/messages` } });
      expect(await failureOf(ask(model({ key: KEY })))).toMatchObject({ details: { status: 307 } });
      expect(other.requests).toEqual([]);
    });

    it.each(["nonsense", "ftp://127.0.0.1/v1", "http://me:secret@127.0.0.1/v1"])(
      "is not sent to %s",
      (baseUrl) => {
        expect(() => model({ baseUrl })).toThrow("base URL is not a usable");
      },
    );
  });

  it(`${name}: refuses numbers that mean nothing`, () => {
    for (const wrong of [{ timeout: 0 }, { idleTimeout: Number.NaN }, { retries: -1 }]) {
      expect(() => model(wrong)).toThrow("of the model is out of range");
    }
    const price = { inputPerMillion: -1, outputPerMillion: 1 };
    expect(() => model({ price })).toThrow("invalid price of the model");
  });
}
