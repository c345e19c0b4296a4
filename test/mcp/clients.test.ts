import { describe, expect, it } from "vitest";
import { until } from "../support/notebook/notebook-fixture.js";
import {
  AgentFixture,
  type CallResult,
  CLIENTS,
  DRAW,
  TABLE,
  tableAbsence,
  textOf,
} from "./agents.js";

const TOOLS = [
  "execute_cell",
  "rerun_cell",
  "show_cell",
  "show_notebook",
  "delete_cell",
  "clear_notebook",
  "create_notebook",
  "list_notebooks",
  "delete_notebook",
  "export_ipynb",
  "undo",
  "fork_notebook",
  "list_files",
  "read_file",
  "write_file",
  "mark_private",
];

const sessionOf = ({ structuredContent }: CallResult) => structuredContent?.session ?? "";
const imagesOf = ({ content }: CallResult) => content.filter(({ type }) => type === "image");

function linksOf({ content }: CallResult) {
  return content.flatMap((part) => (part.type === "resource_link" ? [part] : []));
}

describe.each(CLIENTS)("with $name", ({ revision, connect }) => {
  const fixture = new AgentFixture(connect);

  it("lists its tools, resources, templates and prompt", async () => {
    const agent = await fixture.user("lister");
    expect(agent.revision).toBe(revision);
    expect(agent.instructions).toMatch(/Isolation in force: L3/);
    const tools = await agent.tools();
    expect(tools.map(({ name }) => name).sort()).toEqual([...TOOLS].sort());
    for (const { description, inputSchema } of tools) {
      expect(description.length).toBeGreaterThan(40);
      expect(inputSchema.additionalProperties).toBe(false);
    }
    // Not known to the validators of the older revisions.
    expect(JSON.stringify(tools)).not.toContain("prefixItems");
    expect((await agent.resources()).resources).toEqual([]);
    expect((await agent.templates()).length).toBeGreaterThan(3);
    const { name, others, text } = await agent.prompt();
    expect([name, others]).toEqual(["use_notebook", []]);
    expect(text).toBe(agent.instructions);
  });

  it("shows text, a value, a table, an image and an error", async () => {
    const agent = await fixture.common();
    const first = await agent.call("execute_cell", { code: "print('hello'); x = 41; x + 1" });
    expect(first.isError ?? false).toBe(false);
    expect(textOf(first.content)).toMatch(/hello[\s\S]*42/);
    const session = sessionOf(first);
    const isolation = first.structuredContent?.isolation;
    expect(isolation).toMatch(/^L3/);

    const [image] = imagesOf(await agent.execute(session, DRAW));
    if (image?.type !== "image") throw new Error("there is no image");
    expect(image.mimeType).toBe("image/png");
    expect(Buffer.from(image.data, "base64").subarray(1, 4).toString()).toBe("PNG");

    const failed = await agent.execute(session, "1 / 0");
    expect(failed.isError).toBe(true);
    expect(textOf(failed.content)).toContain("ZeroDivisionError");
    expect(failed.structuredContent).toMatchObject({ session, isolation });
    expect(textOf((await agent.execute(session, "x")).content)).toContain("41");
  });

  it("streams what is printed, and interrupts a cancelled cell with its state kept", async () => {
    const agent = await fixture.common();
    await agent.execute("loop", "x = 7");
    const controller = new AbortController();
    const seen: string[] = [];
    let reached = 0;
    const running = agent.execute("loop", "y = 8\nprint('begun')\nwhile True: pass", {
      signal: controller.signal,
      onprogress: ({ progress, message = "" }) => {
        expect(progress).toBeGreaterThan(reached);
        reached = progress;
        seen.push(message);
      },
    });
    running.catch(() => {});
    await until(() => seen.join("").includes("begun"));
    controller.abort("enough");
    await expect(running).rejects.toThrow();
    const after = await agent.execute("loop", "(x, y)");
    expect(textOf(after.content)).toContain("(7, 8)");
    const told = await agent.call("show_cell", { session: "loop", cell: 2 });
    expect(textOf(told.content)).toContain("CANCELLED");
  });

  it("gives a handle to 5 MB of output, and all of it behind the handle", async () => {
    const agent = await fixture.common();
    const result = await agent.execute("big", "print('x' * 5_000_000 + 'END')");
    expect(JSON.stringify(result).length).toBeLessThan(50_000);
    const [link] = linksOf(result);
    expect(link?.size).toBe(5_000_004);
    const { text, mimeType } = await agent.read(link?.uri ?? "");
    expect(mimeType).toMatch(/^text\/plain/);
    expect(text).toBe(`${"x".repeat(5_000_000)}END\n`);
  });

  it("shows a table", async (context) => {
    const agent = await fixture.common();
    const { content, structuredContent } = await agent.execute("table", TABLE);
    const absence = tableAbsence(textOf(content));
    if (absence !== undefined) context.skip(absence);
    expect(textOf(content)).toMatch(/table of 2 rows, 2 columns[\s\S]*Ulm/);
    expect(JSON.stringify(structuredContent)).toContain('"shape":[2,2]');
  });

  it("serves what no answer can hold in parts", async () => {
    const agent = await fixture.common();
    const code = "open('large.txt', 'w').write('0123456789' * 1_100_000)";
    await agent.execute("large", code);
    const uri = "notebook://session/large/files/large.txt";
    await expect(agent.read(uri)).rejects.toThrow(`${uri}?offset=0&length=`);
    const { text } = await agent.read(`${uri}?offset=10999995&length=1000000`);
    expect(text).toBe("56789");
  });

  it("runs two sessions at once", async () => {
    const agent = await fixture.common();
    await Promise.all([agent.execute("one", "import time"), agent.execute("two", "pass")]);
    const held = new AbortController();
    let begun = false;
    const slow = agent.execute("one", "v = 1\nprint('on')\nwhile True: time.sleep(0.01)", {
      signal: held.signal,
      onprogress: () => {
        begun = true;
      },
    });
    slow.catch(() => {});
    await until(() => begun);
    expect(textOf((await agent.execute("two", "v = 2; v")).content)).toContain("2");
    held.abort();
    await expect(slow).rejects.toThrow();
    expect(textOf((await agent.execute("one", "v + 10")).content)).toContain("11");
  });

  it("has its notebooks after it was killed", async () => {
    const first = await fixture.user("survivor");
    await first.execute("kept", "x = 5");
    await first.call("write_file", { session: "kept", path: "a.txt", content: "hello" });
    const listed = await first.call("execute_cell", { session: "kept", code: "x += 1; x" });
    expect(textOf(listed.content)).toContain("6");
    process.kill(first.pid, "SIGKILL");
    await expect(first.execute("kept", "x")).rejects.toThrow();

    const second = await fixture.user("survivor");
    const shown = await second.call("show_notebook", { session: "kept" });
    expect(textOf(shown.content)).toContain("x += 1; x");
    const file = await second.call("read_file", { session: "kept", path: "a.txt" });
    expect(textOf(file.content)).toContain("hello");
    const rerun = await second.call("rerun_cell", { session: "kept", cell: 1 });
    expect(rerun.isError ?? false).toBe(false);
    expect(textOf((await second.execute("kept", "x")).content)).toMatch(/5/);
  });

  it("keeps one notebook for the calls of a connection that name none", async () => {
    const agent = await fixture.user("forgetful");
    const first = await agent.call("execute_cell", { code: "df = 41" });
    const second = await agent.call("execute_cell", { code: "df + 1" });
    expect(textOf(second.content)).toContain("42");
    expect(sessionOf(second)).toBe(sessionOf(first));
    const order = { session: sessionOf(first), confirm: true };
    expect((await agent.call("delete_notebook", order)).isError ?? false).toBe(false);
    expect((await agent.resources()).resources).toEqual([]);
  });

  it("tells which resources changed", async () => {
    const agent = await fixture.user("watcher");
    await agent.execute("seen", "1");
    const uri = "notebook://session/seen";
    const heard = await agent.watch([uri, "notebook://session/other"]);
    await agent.execute("seen", "2");
    await until(() => heard.includes(uri) && heard.includes("list"));
    expect(heard).not.toContain("notebook://session/other");
    const { resources } = await agent.resources();
    expect(resources.map((one) => one.uri)).toEqual([uri, `${uri}/cell/0`, `${uri}/cell/1`]);
    for (const one of resources) expect((await agent.read(one.uri)).text).toMatch(/\S/);
  });

  it("reaches no notebook of another user", async () => {
    const owner = await fixture.user("owner");
    await owner.execute("diary", "secret = 'SECRET-7'\nsecret");
    const stranger = await fixture.user("stranger");
    expect((await stranger.resources()).resources).toEqual([]);
    const list = await stranger.call("list_notebooks", {});
    expect(textOf(list.content)).not.toContain("diary");
    const tries = ["diary", "../owner/diary", "owner/diary", "/diary", "owner+diary"];
    for (const session of tries) {
      const shown = await stranger.call("show_notebook", { session });
      expect(shown.isError).toBe(true);
      expect(JSON.stringify(shown)).not.toContain("SECRET-7");
      const uri = `notebook://session/${session}/cell/0`;
      await expect(stranger.read(uri)).rejects.toThrow();
    }
    expect(textOf((await stranger.execute("diary", "1 + 1")).content)).toContain("2");
    expect(textOf((await owner.execute("diary", "secret")).content)).toContain("SECRET-7");
  });

  it("says what to change in a call that it refuses", async () => {
    const agent = await fixture.common();
    const wrong = await agent.call("execute_cell", { code: 5, memory: 10 });
    expect(wrong.isError).toBe(true);
    expect(textOf(wrong.content)).toMatch(/code[\s\S]*memory|memory[\s\S]*code/);
    const absent = await agent.call("show_cell", { session: "nowhere", cell: 1 });
    expect(absent.isError).toBe(true);
    await expect(agent.call("no_such_tool", {})).rejects.toThrow(/execute_cell/);
    await expect(agent.read("file:///etc/passwd")).rejects.toThrow(/notebook/);
  });
});
