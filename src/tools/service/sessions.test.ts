import { describe, expect, it } from "vitest";
import { until } from "../../../test/support/notebook/notebook-fixture.js";
import {
  call,
  execute,
  ServiceFixture,
  textOf,
} from "../../../test/support/notebook/service-fixture.js";
import type { NotebookService } from "./notebook-service.js";

const fixture = new ServiceFixture();

const sessionOf = ({ structured }: { readonly structured: unknown }) =>
  (structured as { session: string }).session;

const sessions = async (service: NotebookService) =>
  (await service.list()).map(({ session }) => session);

describe("calls without a session", () => {
  it("share one notebook of their connection, which each answer names", async () => {
    const service = await fixture.open({ user: "sharer" });
    const both = [
      call(service, "execute_cell", { code: "x = 20" }),
      call(service, "write_file", { path: "a.txt", content: "22" }),
    ];
    const [ran, written] = await Promise.all(both);
    const session = sessionOf(ran as { structured: unknown });
    expect(sessionOf(written as { structured: unknown })).toBe(session);
    await execute(service, "named", "x = 'another'");
    const sum = await call(service, "execute_cell", { code: "x + int(open('a.txt').read())" });
    expect(textOf(sum)).toMatch(new RegExp(`^cell 2 · .* · session ${session} · .*\\n.*\\n42`));
    const inputs = {
      show_notebook: {},
      show_cell: { cell: 1 },
      rerun_cell: { cell: 1 },
      list_files: {},
      read_file: { path: "a.txt" },
      undo: {},
      delete_cell: { cell: 2 },
      export_ipynb: {},
      mark_private: {},
      clear_notebook: {},
    };
    for (const [name, input] of Object.entries(inputs)) {
      const answer = await call(service, name, input);
      expect([name, answer.refusal, sessionOf(answer)]).toEqual([name, undefined, session]);
      expect(textOf(answer), name).toContain(session);
    }
    expect((await sessions(service)).sort()).toEqual([session, "named"].sort());
    const other = await fixture.open({ user: "sharer" });
    expect(sessionOf(await call(other, "execute_cell", { code: "1" }))).not.toBe(session);
  });

  it("begin with one that is made without a name, and say so where there is none", async () => {
    const service = await fixture.open({ user: "beginner" });
    for (const name of ["show_notebook", "list_files", "undo", "fork_notebook"]) {
      const refused = await call(service, name);
      expect(refused.refusal?.code, name).toBe("NOT_FOUND");
      expect(textOf(refused), name).toContain("execute_cell creates one");
    }
    const made = sessionOf(await call(service, "create_notebook"));
    expect(sessionOf(await call(service, "execute_cell", { code: "1" }))).toBe(made);
    expect(sessionOf(await call(service, "create_notebook"))).not.toBe(made);
    expect(sessionOf(await call(service, "show_notebook"))).toBe(made);
  });

  it("leave a notebook behind when it holds something, and none when it is empty", async () => {
    const service = await fixture.open({ user: "tidy" });
    await call(service, "create_notebook");
    await service.close();
    expect(await sessions(service)).toEqual([]);
    const next = await fixture.open({ user: "tidy" });
    const kept = sessionOf(await call(next, "execute_cell", { code: "1 / 0" }));
    await next.close();
    expect(await sessions(next)).toEqual([kept]);
    const last = await fixture.open({ user: "tidy" });
    const filled = sessionOf(await call(last, "write_file", { path: "a", content: "a" }));
    await last.close();
    expect((await sessions(last)).sort()).toEqual([kept, filled].sort());
  });

  it("are told where a name is that their notebook has not", async () => {
    const service = await fixture.open({ user: "searcher" });
    await execute(service, "sales", "df = 1");
    await until(async () => (await service.stateOf("sales"))?.snapshot?.sequence === 1);
    const answer = await call(service, "execute_cell", { code: "df" });
    expect(textOf(answer)).toContain("hint: df is in session sales: pass session=sales");
    expect(textOf(await call(service, "execute_cell", { code: "nowhere" }))).not.toContain(
      "session=",
    );
  });
});

describe("notebooks", () => {
  it("are listed with their size and last use, and deleted on demand", async () => {
    const service = await fixture.open({ user: "owner" });
    const own = sessionOf(await call(service, "execute_cell", { code: "x = 'y' * 1000" }));
    const listed = await call(service, "list_notebooks");
    expect(listed.structured).toMatchObject({
      notebooks: [{ session: own, cells: 1, isOpen: true, bytes: expect.any(Number) }],
    });
    expect(textOf(listed)).toMatch(/1 cell · [\d,]+ bytes · last used \d{4}-\d\d-\d\dT\d\d:\d\dZ/);
    const stranger = await fixture.open({ user: "stranger" });
    const order = { session: own, confirm: true };
    expect((await call(stranger, "delete_notebook", order)).refusal?.code).toBe("NOT_FOUND");
    expect((await call(service, "delete_notebook", {})).refusal?.code).toBe("INVALID_INPUT");
    expect((await call(service, "delete_notebook", { session: own })).refusal?.code).toBe(
      "INVALID_INPUT",
    );
    expect(await sessions(service)).toEqual([own]);
    expect((await call(service, "delete_notebook", order)).structured).toMatchObject({
      session: own,
    });
    expect(await sessions(service)).toEqual([]);
    const after = await call(service, "execute_cell", { code: "'x' in globals()" });
    expect(sessionOf(after)).not.toBe(own);
    expect(textOf(after)).toContain("False");
  });

  it("are not deleted while a cell of them runs, here or elsewhere", async () => {
    const service = await fixture.open({ user: "busy" });
    const stopping = new AbortController();
    let isHeard = false;
    const onText = () => {
      isHeard = true;
    };
    const running = execute(service, "busy", "print(1, flush=True)\nwhile True: pass", {
      signal: stopping.signal,
      onText,
    });
    await until(() => isHeard);
    const order = { session: "busy", confirm: true };
    const other = await fixture.open({ user: "busy" });
    for (const one of [service, other]) {
      expect((await call(one, "delete_notebook", order)).refusal?.code).toBe("LOCKED");
    }
    stopping.abort();
    await running;
    expect((await call(service, "delete_notebook", order)).refusal).toBeUndefined();
  });
});
