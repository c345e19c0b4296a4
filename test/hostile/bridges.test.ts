import { describe, expect, it } from "vitest";
import { z } from "zod";
import { hostTool, type LLMQuery } from "../../src/index.js";
import { expectNextCell } from "./attack.js";
import { AttackFixture } from "./attack-fixture.js";

const fixture = new AttackFixture();

/** Past the functions, to what sends their questions. */
const SERVICE = [
  "cells = [cell.cell_contents for cell in llm_query.__closure__]",
  "bridge = next(cell for cell in cells if hasattr(cell, '_service'))",
  "service, questions = bridge._service, bridge._host_calls",
].join("\n");

interface Forgery {
  readonly code: string;
  /** What the cell prints at its end. */
  readonly told: RegExp;
}

const FORGERIES: Readonly<Record<string, Forgery>> = {
  "asks for a function of another name": {
    code: "print(bridge.ask('__proto__', [{}]), bridge.ask('constructor', [{}]))",
    told: /unknown host function "__proto__".*unknown host function "constructor"/,
  },
  "sends what is not JSON": {
    code: [
      "number = questions.open()",
      "service.ask(number, 'llm_query', '{\"prompt\": ')",
      "service.await_answers(lambda: questions.is_settled(number))",
      "print(questions.close(number))",
    ].join("\n"),
    told: /not valid JSON/,
  },
  "sends something else than a prompt": {
    code: "print(bridge.ask('llm_query', [{'prompt': ['x'], 'model': None}, {'prompt': 'x', 'model': None, 'y': 1}]))",
    told: /invalid arguments.*invalid arguments/,
  },
  "sends too deep a value": {
    code: [
      "number = questions.open()",
      "service.ask(number, 'rlm_query', '[' * 100_000 + ']' * 100_000)",
      "service.await_answers(lambda: questions.is_settled(number))",
      "print(questions.close(number))",
    ].join("\n"),
    told: /nested more than/,
  },
  "sends too many values": {
    code: [
      "number = questions.open()",
      "service.ask(number, 'rlm_query', '[' + '0,' * 3_000_000 + '0]')",
      "service.await_answers(lambda: questions.is_settled(number))",
      "print(questions.close(number))",
    ].join("\n"),
    told: /more than [\d,]+ values/,
  },
  "tags a value as what it is not": {
    code: "print(bridge.ask('llm_query', [{'$': 'dict', 'v': [['prompt', 'x']]}]))",
    told: /invalid arguments/,
  },
  "asks in the name of another cell": {
    code: "service.interrupts.step += 1\nprint(bridge.ask('llm_query', [{'prompt': 'x', 'model': None}]))\nservice.interrupts.step -= 1",
    told: /while its cell is running/,
  },
  "calls a tool that is not offered": {
    code: "print(bridge.ask('surely_no_tool', [{}]), bridge.ask('execute', [{}]))",
    told: /unknown host function "surely_no_tool".*unknown host function "execute"/,
  },
  "gives a tool something else than fields": {
    code: "print(bridge.ask('order', [['x'], 'x', None, {'$': 'dict', 'v': [['item', 'x']]}]))",
    told: /(got invalid arguments.*){4}/,
  },
  "gives a tool fields past its own function": {
    code: "print(bridge.ask('order', [{'item': {'$': 'bytes', 'v': 'AAAA'}, '__proto__': {'item': 'x'}}]))",
    told: /got invalid arguments: item: /,
  },
  "gives a tool what is no JSON, and what is too deep": {
    code: [
      "for content in ('{\"item\": ', '[' * 100_000 + ']' * 100_000):",
      "    number = questions.open()",
      "    service.ask(number, 'order', content)",
      "    service.await_answers(lambda: questions.is_settled(number))",
      "    print(questions.close(number))",
    ].join("\n"),
    told: /not valid JSON[\s\S]*nested more than/,
  },
  "asks more than can be open": {
    code: [
      "numbers = [questions.open() for _ in range(5000)]",
      'for number in numbers: service.ask(number, \'llm_query\', \'{"prompt": "hold", "model": null}\')',
      "service.await_answers(lambda: any(map(questions.is_settled, numbers)))",
      "print([questions.close(n) for n in numbers if questions.is_settled(n)][0])",
    ].join("\n"),
    told: /too many open requests/,
  },
};

const onLLMQuery: LLMQuery = (prompt, { signal }) => {
  if (prompt !== "hold") return `answer to ${prompt}`;
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
};

const order = hostTool({
  inputSchema: z.object({ item: z.string() }),
  execute: ({ item }) => `ordered ${item.trim()}`,
});

describe("forged questions to the host", () => {
  fixture.keepHost();
  fixture.keepNeighbour();

  it.each(Object.entries(FORGERIES))("%s", async (_name, { code, told }) => {
    await using sandbox = await fixture.runner.sandbox({
      onLLMQuery,
      onRLMQuery: async () => "x",
      tools: { order },
    });
    const run = await sandbox.execute(`${SERVICE}\n${code}`);
    expect([run.status, run.error?.message ?? null, run.stdout]).toEqual([
      "ok",
      null,
      expect.stringMatching(told),
    ]);
    await expectNextCell(sandbox);
    const again = await sandbox.execute("llm_query('again')");
    expect(again.result?.["text/plain"]).toBe("'answer to again'");
  });

  it("an answer that comes after its cell does not reach the next one", async () => {
    let release: (answer: string) => void = () => {};
    let tellAsked: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      tellAsked = resolve;
    });
    await using sandbox = await fixture.runner.sandbox({
      onLLMQuery: (prompt) => {
        if (prompt === "second") return "second answer";
        tellAsked();
        return new Promise((resolve) => {
          release = resolve;
        });
      },
    });
    const running = sandbox.execute("llm_query('first')");
    await asked;
    await sandbox.cancel();
    expect((await running).status).toBe("cancelled");
    release("first answer");
    const next = await sandbox.execute("llm_query('second')");
    expect(next.result?.["text/plain"]).toBe("'second answer'");
  });

  it("a flood whose answers are not read costs the session, not the host", async () => {
    await using sandbox = await fixture.runner.sandbox({
      onLLMQuery: () => "x".repeat(1_000_000),
      timeout: 30_000,
    });
    const run = await sandbox.execute(
      `${SERVICE}\nwhile True:\n    number = questions.open()\n    service.ask(number, 'llm_query', '{"prompt": "x", "model": null}')`,
    );
    expect(run.status).toBe("crashed");
    expect(run.error?.message).toContain("not read");
    await expectNextCell(sandbox);
  });
});
