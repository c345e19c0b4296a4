import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { livenessOf } from "../../backends/host/process-identity.js";
import { currentOwner, describeOwner, ownerSchema } from "./owner.js";

const hasProc = existsSync("/proc/self/stat");

describe("the owner of a notebook", () => {
  it("is this process, anew for each opening", () => {
    const owner = currentOwner();
    expect(ownerSchema.parse(JSON.parse(JSON.stringify(owner)))).toEqual(owner);
    expect(owner.pid).toBe(process.pid);
    expect(livenessOf(owner)).toBe("alive");
    expect(currentOwner().incarnation).not.toBe(owner.incarnation);
    expect(describeOwner(owner)).toContain(`process ${process.pid} on ${owner.host}`);
  });

  it("lives as long as its process", async () => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    await once(child, "spawn");
    const pid = child.pid as number;
    const signals = { ...currentOwner(), pid, startTime: null };
    expect(livenessOf(signals)).toBe("alive");
    child.kill("SIGKILL");
    await once(child, "close");
    expect(livenessOf(signals)).toBe("dead");
    expect(livenessOf({ ...signals, startTime: "1" })).toBe("dead");
  });

  it("is not who has got its pid later", (context) => {
    if (!hasProc) context.skip("this system does not tell when a process started");
    const owner = currentOwner();
    expect(owner.startTime).toMatch(/^\d+$/);
    expect(livenessOf({ ...owner, startTime: `${Number(owner.startTime) - 1}` })).toBe("dead");
  });

  it("did not outlive a restart of the machine", () => {
    expect(livenessOf({ ...currentOwner(), bootId: "another" })).toBe("dead");
  });

  it("cannot be told from elsewhere", () => {
    expect(livenessOf({ ...currentOwner(), host: "elsewhere", pid: 1 })).toBe("unknown");
    expect(livenessOf({ ...currentOwner(), pidSpace: "pid:[1]" })).toBe("unknown");
  });

  it("is dead before its parent has noticed", async (context) => {
    if (!hasProc) context.skip("this system does not tell which processes have ended");
    const script =
      "import os, sys\npid = os.fork()\nif pid == 0: os._exit(0)\n" +
      "start = open(f'/proc/{pid}/stat').read().split()[21]\n" +
      "os.write(1, f'{pid} {start}'.encode())\nsys.stdin.read()";
    const parent = spawn("python3", ["-c", script]);
    try {
      const [line] = (await once(parent.stdout, "data")) as [Buffer];
      const [pid, startTime] = String(line).split(" ");
      expect(startTime).toMatch(/^\d+$/);
      const child = { ...currentOwner(), pid: Number(pid), startTime: String(startTime) };
      await expect.poll(() => livenessOf(child)).toBe("dead");
    } finally {
      parent.stdin.end();
      await once(parent, "close");
    }
  });
});
