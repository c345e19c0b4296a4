import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { SandboxInfo } from "../../backends/backend.js";
import { hostEnvironment } from "../../config/environment.js";
import { counted } from "../../errors.js";
import { rlm } from "../../rlm/rlm.js";

const questionSchema = z.object({
  query: z.string(),
  config: z.object({ preload: z.literal("none"), poolSize: z.literal(0) }),
});

const shipsSchema = z.array(z.object({ ship: z.string(), news: z.string() }));

/** Replays a recorded run: the code runs for real, the models do not. */
export async function replayRun({ isolation }: SandboxInfo): Promise<string> {
  const folder = join(hostEnvironment().packageRoot, "demo");
  const { query, config } = questionSchema.parse(
    JSON.parse(await readFile(join(folder, "question.json"), "utf8")),
  );
  const context = await readFile(join(folder, "moby-dick.txt"), "utf8");
  const { status, output, error, turns, usage } = await rlm({
    query,
    context,
    config: { ...config, minIsolation: isolation.level },
    replay: join(folder, "run.cassette"),
  });
  if (status !== "answered") throw error ?? new Error(`the run was ${status}`);
  const ships = shipsSchema.parse(output).map(({ ship }) => ship);
  const size = context.length.toLocaleString("en");
  return (
    `which ships are met in four chapters of Moby-Dick (${size} characters)? A replayed run: ` +
    `${counted(turns, "turn")}, ${counted(usage.calls, "model call")} → ${ships.join(", ")}`
  );
}
