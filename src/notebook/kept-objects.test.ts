import { describe, expect, it } from "vitest";
import { NotebookFixture, shown } from "../../test/support/notebook/notebook-fixture.js";
import { Notebook } from "./notebook.js";

const DATABASE = [
  "import sqlite3, threading",
  "class Database:",
  "    def __init__(self, path):",
  "        self.path, self.lock = path, threading.Lock()",
  "        self.connection = sqlite3.connect(path)",
  "keep(Database, lambda database: database.path, Database)",
  "db = Database('/workspace/orders.db')",
  "db.connection.execute('create table orders (total)')",
  "places = {'main': [db]}",
].join("\n");
const COUNT = "db.connection.execute('select count(*) from orders').fetchone()[0]";
const SAME = "places['main'][0] is db and type(db) is Database";

describe("objects of a class that keep() was told of", () => {
  const fixture = new NotebookFixture();

  it("are there when the notebook is opened again, after undo and in a fork", async () => {
    const options = fixture.options();
    const first = await Notebook.open(options);
    await first.run(DATABASE);
    await first.run("with db.connection: db.connection.execute('insert into orders values (20)')");
    await first.close();

    const second = await Notebook.open(options);
    expect(second.state).toMatchObject({ lost: [], warnings: [] });
    expect(shown(await second.run(`(${COUNT}, ${SAME}, db.lock.acquire(False))`))).toBe(
      "(1, True, True)",
    );
    await second.run("broken = Database('/workspace/other.db')");
    await second.undo();
    const other = fixture.keep(await second.fork("twin"));
    expect(shown(await other.run(`(${COUNT}, ${SAME}, 'broken' in globals())`))).toBe(
      "(1, True, False)",
    );
    await other.run("late = Database('/workspace/late.db'); None");
    await other.close();
    await second.close();

    const third = fixture.keep(await Notebook.open({ ...options, session: "twin" }));
    expect(third.state.lost).toEqual([]);
    expect(shown(await third.run("late.path, late.lock.locked()"))).toBe(
      "('/workspace/late.db', False)",
    );
  });

  it("are lost with a reason where a function fails, and nothing else is", async () => {
    const options = fixture.options();
    const first = await Notebook.open(options);
    await first.run(
      "class A: pass\nclass B: pass\nkeep(A, lambda a: 1 / 0, print)\n" +
        "keep(B, lambda b: 'b', lambda text: 1 / 0)\na, b, x = A(), B(), 41",
    );
    await first.close();
    const told = first.state.snapshot?.manifest?.variables.find(({ name }) => name === "a");
    expect(told?.reason).toContain("save function failed: ZeroDivisionError");
    const nb = fixture.keep(await Notebook.open(options));
    const lost = Object.fromEntries(nb.state.lost.map(({ name, reason }) => [name, reason]));
    expect(lost.a).toContain("save function failed");
    expect(lost.b).toContain("the load function of keep(B) failed: ZeroDivisionError");
    expect(shown(await nb.run("x"))).toBe("41");
  });
});
