import { describe, expect, it } from "vitest";
import { NotebookFixture, shown } from "../support/notebook/notebook-fixture.js";
import { type Host, Hosts } from "./hosts.js";

describe("a notebook that another process holds", () => {
  const fixture = new NotebookFixture();
  const hosts = new Hosts();

  const held = async (): Promise<{ host: Host; names: { user: string; session: string } }> => {
    const { runtime: _, ...order } = fixture.options();
    const host = hosts.start(order);
    await host.opened();
    await host.ask("run", "x = 41");
    const { user, session } = order;
    return { host, names: { user, session } };
  };

  it("is refused, and the refusal tells who that is", async () => {
    const { host, names } = await held();
    const message = expect.stringContaining(`process ${host.pid} `);
    for (let tries = 0; tries < 3; tries += 1) {
      await expect(fixture.open(names)).rejects.toMatchObject({
        code: "LOCKED",
        message,
        details: { owner: { pid: host.pid }, liveness: "alive" },
      });
    }
    const run = await host.ask("run", "x + 1");
    expect(run.error).toBeUndefined();
    expect(run.value).toMatchObject({ number: 2, outputs: [{ text: "42" }] });
  });

  it("is open to the next one when that process was killed", async () => {
    const { host, names } = await held();
    await host.kill();
    const nb = await fixture.open(names);
    await nb.replay();
    expect(shown(await nb.run("x"))).toBe("41");
    expect(nb.info.epoch).toBe(2);
  });

  it("is open to the next one when that process has closed it", async () => {
    const { host, names } = await held();
    expect((await host.ask("close")).error).toBeUndefined();
    const nb = await fixture.open(names);
    expect(nb.state).toMatchObject({ restored: 1, ranAfter: [] });
    expect(shown(await nb.run("x"))).toBe("41");
  });

  it("goes to one alone of many who come when that process was killed", async () => {
    const { host, names } = await held();
    await host.kill();
    const { user, session } = names;
    const { runtime: _, ...order } = fixture.options({ user, session });
    const rivals = [1, 2, 3].map(() => hosts.start(order));
    const first = await Promise.all(rivals.map((rival) => rival.next()));
    expect(first.filter((said) => said?.at === "open")).toHaveLength(1);
    const losers = first.filter((said) => said?.at === "failed");
    expect(losers.map((said) => said.code)).toEqual(["LOCKED", "LOCKED"]);
  });

  it("is not written by that process any more after a takeover", async () => {
    const { host, names } = await held();
    host.signal("SIGSTOP");
    await expect(fixture.open(names)).rejects.toMatchObject({ code: "LOCKED" });
    const nb = await fixture.open({ ...names, takeover: true });
    await nb.replay();
    const mine = await nb.run("x += 1\nx");
    expect(shown(mine)).toBe("42");
    const cells = nb.cells;
    host.signal("SIGCONT");
    for (const code of ["x = 'theirs'", "x"]) {
      const { error } = await host.ask("run", code);
      expect(error).toMatchObject({ code: "CONFLICT" });
      expect(error?.message).toContain(`process ${process.pid} `);
    }
    expect(nb.cells).toEqual(cells);
    expect(shown(await nb.run("x"))).toBe("42");
    await nb.close();
    const again = await fixture.open(names);
    expect(again.cells.map(({ code }) => code)).toEqual(["x = 41", "x += 1\nx", "x"]);
    const restored = again.cells[2]?.number;
    expect(again.state).toMatchObject({ restored, ranAfter: [], refused: [], warnings: [] });
  });
});
