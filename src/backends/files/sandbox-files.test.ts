import { expect, it } from "vitest";
import { type AskFiles, SandboxFiles } from "./sandbox-files.js";

class Dribbling extends SandboxFiles {
  reads = 0;

  readonly askFiles = (async (method: string) => {
    if (method === "open_file") return { done: true, file: 1, bytes: 5000 };
    if (method === "close_file") return { done: true };
    this.reads += 1;
    return { done: true, data: Buffer.from("x").toString("base64") };
  }) as unknown as AskFiles;

  async destroy(): Promise<void> {}
}

it("a process that gives a file byte by byte is not asked again and again", async () => {
  await using sandbox = new Dribbling({ bytes: 10_000, files: 10 });
  expect(String(await sandbox.getFile("a"))).toBe("x");
  expect(sandbox.reads).toBe(1);
});
