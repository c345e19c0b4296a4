import { describe, expect, it } from "vitest";
import { CellarError } from "../../errors.js";
import type { ModelReply } from "../model.js";
import { functionModel, type ModelFunction } from "./function-model.js";
import { failureOf, QUESTION } from "./provider.case.test.js";

async function ask(answer: ModelFunction, signal?: AbortSignal) {
  const heard: string[] = [];
  const request = { messages: QUESTION, signal, onText: (piece: string) => heard.push(piece) };
  return { ...(await functionModel(answer).complete(request)), heard };
}

describe("functionModel", () => {
  it("takes a text and counts its tokens", async () => {
    const reply = await ask(async ({ messages }) => `${messages.length} messages`);
    expect(reply).toEqual({
      text: "2 messages",
      usage: { inputTokens: 18, outputTokens: 2, isEstimate: true },
      finish: "stop",
      model: "function",
      heard: ["2 messages"],
    });
  });

  it("takes a reply as it is, and a name and a price", async () => {
    const usage = { inputTokens: 1, outputTokens: 2, isEstimate: false };
    const reply: ModelReply = { text: "", usage, finish: "length", model: "other" };
    expect(await ask(() => reply)).toEqual({ ...reply, heard: [] });
    const price = { inputPerMillion: 1, outputPerMillion: 2 };
    const options = { name: "mine", contextWindow: 9, price };
    expect(functionModel(() => "", options)).toMatchObject(options);
    expect(
      functionModel(function oracle() {
        return "";
      }).name,
    ).toBe("oracle");
  });

  it("says nothing twice when the function speaks itself", async () => {
    const reply = await ask(({ onText }) => {
      onText?.("one ");
      onText?.("two");
      return "one two";
    });
    expect(reply.heard).toEqual(["one ", "two"]);
  });

  it("leaves a function alone that does not listen", async () => {
    const aborted = { code: "ABORTED" };
    expect(await failureOf(ask(() => "late", AbortSignal.abort()))).toMatchObject(aborted);
    const controller = new AbortController();
    const deaf = ask(() => {
      controller.abort();
      return new Promise<string>(() => {});
    }, controller.signal);
    expect(await failureOf(deaf)).toMatchObject(aborted);
  });

  it("tells what went wrong", async () => {
    const cause = new TypeError("not today");
    const thrown = ask(() => {
      throw cause;
    });
    const error = await failureOf(thrown);
    expect(error).toMatchObject({ code: "REMOTE_ERROR", cause });
    expect(error.message).toBe("the model failed: not today");
    const own = new CellarError("LIMIT_REACHED", "enough");
    expect(await failureOf(ask(() => Promise.reject(own)))).toBe(own);
    const nothing = (() => undefined) as unknown as ModelFunction;
    expect(await failureOf(ask(nothing))).toMatchObject({ code: "INVALID_INPUT" });
  });
});
