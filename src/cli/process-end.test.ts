import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { MAIN } from "./command-line.case.test.js";

describe("an output that cannot be written", () => {
  it("is told, and is no success", async (context) => {
    if (!existsSync("/dev/full")) context.skip("there is no /dev/full");
    await using full = await open("/dev/full", "w");
    const child = spawn(process.execPath, [MAIN, "--help"], { stdio: ["ignore", full.fd, "pipe"] });
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const [code] = (await once(child, "close")) as [number | null];
    expect(code).toBe(125);
    expect(stderr.match(/ENOSPC/g)).toHaveLength(1);
  });
});
