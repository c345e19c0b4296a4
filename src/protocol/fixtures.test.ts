import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { envelopeSchema, messages, parseEnvelope } from "./messages.js";

const fixtures = new URL("../../protocol/fixtures/", import.meta.url);
const MIN_FIXTURES = { accept: 1, reject: 2 } as const;

type Verdict = keyof typeof MIN_FIXTURES;
const verdicts: readonly Verdict[] = ["accept", "reject"];

function schemas(): ReadonlyMap<string, z.ZodType> {
  const found = new Map<string, z.ZodType>([["envelope", envelopeSchema]]);
  for (const [method, spec] of Object.entries(messages)) {
    found.set(method, spec.params);
    if (spec.kind === "request") found.set(`${method}.result`, spec.result);
  }
  return found;
}

function names(folder: string): string[] {
  return readdirSync(new URL(folder, fixtures)).sort();
}

describe.each(verdicts)("%s", (verdict) => {
  test("has a folder for every message and no other", () => {
    expect(names(`${verdict}/`)).toEqual([...schemas().keys()].sort());
  });

  test.each([...schemas()])("%s", (message, schema) => {
    const files = names(`${verdict}/${message}/`);
    expect(files.length).toBeGreaterThanOrEqual(MIN_FIXTURES[verdict]);
    const wrong = files.filter((file) => {
      const text = readFileSync(new URL(`${verdict}/${message}/${file}`, fixtures), "utf8");
      return schema.safeParse(JSON.parse(text)).success !== (verdict === "accept");
    });
    expect(wrong).toEqual([]);
  });
});

test("the quick reading of an envelope agrees with its schema", () => {
  const whole: unknown[] = verdicts.flatMap((verdict) =>
    names(`${verdict}/envelope/`).map((file) =>
      JSON.parse(readFileSync(new URL(`${verdict}/envelope/${file}`, fixtures), "utf8")),
    ),
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
