import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import { z } from "zod";
import type { SandboxInfo } from "../../backends/backend.js";
import { surroundings } from "../../config.js";
import { counted } from "../../errors.js";
import { rlm } from "../../rlm/rlm.js";

const questionSchema = z.object({
  query: z.string(),
  config: z.object({ preload: z.literal("none"), poolSize: z.literal(0) }),
});

const shipsSchema = z.array(z.object({ chapter: z.int(), ship: z.string(), news: z.string() }));

/** A recorded run over a whole book, played again: its code runs for real, its models do not. */
export async function playBook({ isolation }: SandboxInfo): Promise<string> {
  const folder = join(surroundings().packageRoot, "demo");
  const { query, config } = questionSchema.parse(
    JSON.parse(await readFile(join(folder, "moby-dick.json"), "utf8")),
  );
  const packed = await readFile(join(folder, "moby-dick.txt.br"));
  const context = (await promisify(brotliDecompress)(packed)).toString();
  const { how, output, error, turns, usage } = await rlm({
    query,
    context,
    config: { ...config, minIsolation: isolation.level },
    replay: join(folder, "moby-dick.cassette"),
  });
  if (how !== "answered") throw error ?? new Error(`the run was ${how}`);
  // The recorded models were not told of a form.
  const ships = shipsSchema.parse(output);
  const [first, second, ...others] = ships.map(({ ship }) => ship.replace(/ \(.*/, ""));
  const size = (context.length / 1_000_000).toFixed(1);
  return (
    `which ships are met in Moby-Dick (${size} million characters)? A replayed run: ` +
    `${counted(turns, "turn")}, ${counted(usage.calls, "call")} → ${first}, ${second} and ${others.length} more`
  );
}
