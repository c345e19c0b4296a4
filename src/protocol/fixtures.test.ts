import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { readFixtures, type Verdict } from "../../test/support/message-fixtures.js";
import { envelopeSchema, messages, parseEnvelope } from "./messages.js";

const fixtures = readFixtures();
const MIN_FIXTURES = { accept: 1, reject: 2 } as const;
const verdicts: readonly Verdict[] = ["accept", "reject"];

function schemas(): ReadonlyMap<string, z.ZodType> {
  const found = new Map<string, z.ZodType>([["envelope", envelopeSchema]]);
  for (const [method, spec] of Object.entries(messages)) {
    found.set(method, spec.params);
    if (spec.kind === "request") found.set(`${method}.result`, spec.result);
  }
  return found;
}

test("there are fixtures for every message and no other", () => {
  expect([...fixtures.keys()].sort()).toEqual([...schemas().keys()].sort());
});

describe.each(verdicts)("%s", (verdict) => {
  test.each([...schemas()])("%s", (message, schema) => {
    const examples = Object.entries(fixtures.get(message)?.[verdict] ?? {});
    expect(examples.length).toBeGreaterThanOrEqual(MIN_FIXTURES[verdict]);
    const wrong = examples.filter(
      ([, value]) => schema.safeParse(value).success !== (verdict === "accept"),
    );
    expect(wrong.map(([name]) => name)).toEqual([]);
  });
});

test("the quick reading of an envelope agrees with its schema", () => {
  const whole: unknown[] = verdicts.flatMap((verdict) =>
    Object.values(fixtures.get("envelope")?.[verdict] ?? {}),
  );
  const values = [-1, 0, 1, 1.5, 2 ** 53, "2.0", null, true, {}, []];
  const members = ["jsonrpc", "id", "result", "method", "params", "error", "other"];
  const mutated = whole.flatMap((value) =>
    typeof value === "object" && value !== null
      ? members.flatMap((member) => [
          ...values.map((other) => ({ ...value, [member]: other })),
          Object.fromEntries(Object.entries(value).filter(([key]) => key !== member)),
        ])
      : [],
  );
  const disagreeing = [...whole, ...values, ...mutated].filter(
    (value) => (parseEnvelope(value) !== undefined) !== envelopeSchema.safeParse(value).success,
  );
  expect(disagreeing).toEqual([]);
});
