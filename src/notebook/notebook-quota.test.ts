import { describe, expect, it } from "vitest";
import { NotebookFixture, shown, until } from "../../test/support/notebook/notebook-fixture.js";

const LIMIT = { limits: { workspaceMb: 1 } };
const EXCEEDED = { type: "ERROR", name: "WorkspaceQuotaExceeded" };
const fill = (name: string, bytes: number) => `open('${name}', 'wb').write(bytes(${bytes}))`;

describe("a workspace that is too full", () => {
  const fixture = new NotebookFixture();

  it("ends the cell that fills it, at once or when it is over", async () => {
    const nb = await fixture.open(LIMIT);
    const slow = await nb.run(`import os, time\n${fill("big", 1_500_000)}\ntime.sleep(30)`);
    expect(slow.state).toBe("ERROR");
    expect(slow.outputs.at(-1)).toMatchObject(EXCEEDED);
    expect((await nb.run("os.remove('big')")).state).toBe("COMPLETED");
    const quick = await nb.run(fill("big", 1_500_000));
    expect(quick.outputs.at(-1)).toMatchObject(EXCEEDED);
    await expect(nb.putFile("more", Buffer.alloc(2_000_000))).rejects.toMatchObject({
      code: "TOO_LARGE",
    });
  });

  it("lets cells make it smaller, and none make it larger", async () => {
    const nb = await fixture.open(LIMIT);
    await nb.run(`import os, time\n${fill("a", 900_000)}\n${fill("b", 600_000)}`);
    const idle = await nb.run("'still here'");
    expect([idle.state, shown(idle)]).toEqual(["COMPLETED", "'still here'"]);
    expect(idle.notes?.join()).toContain("delete files you no longer need");
    const slow = await nb.run(`${fill("c", 300_000)}\ntime.sleep(30)`);
    expect(slow.outputs.at(-1)).toMatchObject(EXCEEDED);
    const quick = await nb.run(fill("d", 200_000));
    expect(quick.outputs.at(-1)).toMatchObject(EXCEEDED);
    for (const name of ["a", "c"]) {
      expect((await nb.run(`os.remove('${name}')`)).state).toBe("COMPLETED");
    }
    expect((await nb.run(fill("e", 1_000))).notes).toBeUndefined();
  });

  it("runs nothing while there is far too much, until files are removed from outside", async () => {
    const nb = await fixture.open(LIMIT);
    await nb.run(`x = 1\n${fill("deep", 1)}\n${fill("big", 3_000_000)}`);
    const refused = await nb.run("x = 2\nprint('ran')");
    expect(refused).toMatchObject({ state: "ERROR", outputs: [EXCEEDED] });
    expect(refused.outputs[0]).toMatchObject({ hint: expect.stringContaining("removeFile") });
    expect(refused.notes).toBeUndefined();
    await nb.removeFile("big");
    expect((await nb.files()).files.map(({ path }) => path)).toEqual(["deep"]);
    await expect(nb.removeFile("big")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(shown(await nb.run("x"))).toBe("1");
  });

  it("ends a session whose background fills it between cells, and says so", async () => {
    const nb = await fixture.open(LIMIT);
    await nb.run("x = 1");
    await until(() => nb.state.snapshot?.sequence === 1);
    const writer = "sleep 0.5; head -c 1700000 /dev/zero > big; sleep 100; touch late";
    const left = await nb.run(`import subprocess\nsubprocess.Popen(['sh', '-c', '${writer}'])`);
    expect(left.state).toBe("COMPLETED");
    await until(() => nb.state.present === 0);
    const next = await nb.run("x");
    expect(shown(next)).toBe("1");
    expect(next.notes?.[0]).toMatch(/left running filled the workspace .*the variables are those/);
    expect(next.files).toMatchObject({ created: ["big"] });
    expect((await nb.run("import os; os.remove('big')")).state).toBe("COMPLETED");
  });
});
