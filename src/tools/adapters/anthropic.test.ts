import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { ServiceFixture } from "../../../test/support/notebook/service-fixture.js";
import {
  answered,
  DOT,
  image,
  SHOW_DOT,
  text,
  toolsOn,
} from "../../../test/support/notebook/tool-adapters.js";
import { FakeServer } from "../../../test/support/rlm/fake-model-server.js";
import { toAnthropicToolResult } from "./anthropic.js";

const fixture = new ServiceFixture();

const turn = (content: object[], reason: string) => ({
  body: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content,
    stop_reason: reason,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  },
});

describe("the tools in the Messages API", () => {
  it("are called, answered and told back", async () => {
    await using tools = await toolsOn(fixture, { session: "messages" });
    await using server = await FakeServer.open();
    const call = (id: string, input: object) => ({
      type: "tool_use",
      id,
      name: "execute_cell",
      input,
    });
    const calls = [call("one", { code: SHOW_DOT }), call("two", { code: "6 * seven" })];
    server.inOrder(
      turn(calls, "tool_use"),
      turn([{ type: "text", text: "done", citations: null }], "end_turn"),
    );
    const client = new Anthropic({ baseURL: server.origin, apiKey: "none", maxRetries: 0 });
    const definitions: Anthropic.Tool[] = tools.anthropic();
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Draw a dot." }];
    const about = { model: "m", max_tokens: 1_000, system: tools.instructions, tools: definitions };
    const first = await client.messages.create({ ...about, messages });
    const results: Anthropic.ToolResultBlockParam[] = [];
    for (const block of first.content) {
      if (block.type !== "tool_use") continue;
      const answer = await tools.dispatch(block.name, block.input);
      results.push(toAnthropicToolResult(block.id, answer));
    }
    messages.push({ role: "assistant", content: first.content });
    messages.push({ role: "user", content: results });
    const last = await client.messages.create({ ...about, messages });
    expect(last.content[0]).toMatchObject({ type: "text", text: "done" });

    const [asked, told] = server.requests.map(({ body }) => body);
    expect(asked?.tools).toContainEqual({
      name: "execute_cell",
      description: expect.stringContaining("Runs Python"),
      input_schema: {
        type: "object",
        properties: { code: expect.objectContaining({ type: "string" }) },
        required: ["code"],
        additionalProperties: false,
      },
    });
    expect(told?.messages[2]).toEqual({
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "one",
          is_error: false,
          content: [
            { type: "text", text: expect.stringContaining("COMPLETED") },
            { type: "image", source: { type: "base64", media_type: "image/png", data: DOT } },
          ],
        },
        {
          type: "tool_result",
          tool_use_id: "two",
          is_error: true,
          content: [{ type: "text", text: expect.stringContaining("NameError") }],
        },
      ],
    });
  });

  it("tell an error in text alone, for the API takes nothing else there", () => {
    const result = toAnthropicToolResult("one", answered([text("failed"), image()], true));
    expect(result).toMatchObject({
      is_error: true,
      content: [{ type: "text", text: expect.stringContaining("an image is left out here") }],
    });
    expect(result.content).toHaveLength(1);
  });
});
