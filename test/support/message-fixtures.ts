import { readdirSync, readFileSync } from "node:fs";

export type Verdict = "accept" | "reject";

/** The examples of one message, by what they show. */
export type Fixtures = Readonly<Record<Verdict, Readonly<Record<string, unknown>>>>;

const folder = new URL("../../protocol/fixtures/", import.meta.url);

/** Every message's examples: `execute` are its parameters, `execute.result` is its answer. */
export function readFixtures(): ReadonlyMap<string, Fixtures> {
  return new Map(
    readdirSync(folder)
      .sort()
      .map((file) => [
        file.replace(/\.json$/, ""),
        JSON.parse(readFileSync(new URL(file, folder), "utf8")) as Fixtures,
      ]),
  );
}
