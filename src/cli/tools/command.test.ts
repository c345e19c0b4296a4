import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cellar, Screen, sandboxAbsence } from "../../../test/support/command-line.js";

const MEMORY = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/server-memory/dist/index.js"),
);

let folder = "";
const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cellar-tools-"));
  file(
    "shop.py",
    "def price(net):\n    return {'gross': net * 2}\n\ndef clear():\n    return 'gone'\n",
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

const SHOP = `
tools:
  price:
    description: Doubles a price.
    parameters: {net: {type: number, required: true}}
    implementation: {type: python, file: shop.py, function: price}
  clear:
    description: Clears the shop.
    destructive: true
    implementation: {type: python, file: shop.py, function: clear}
`;

describe("cellar tools", () => {
  it("lists the catalogue, a file and a server, by pattern or word", async () => {
    const all = await cellar(["tools", "list"]);
    expect(all.code).toBe(0);
    expect(all.stdout).toContain("calculate(expression: str");
    const shop = file("shop.yaml", SHOP);
    const own = await cellar(["tools", "list", "price", "--file", shop]);
    expect(own.stdout).toBe("price(net: float)\n    Doubles a price.\n");
    const block = { mcpServers: { mem: { command: process.execPath, args: [MEMORY] } } };
    const config = file("mcp.json", JSON.stringify(block));
    const served = await cellar(["tools", "list", "mem.*", "--mcp-config", config, "--json"]);
    const names = JSON.parse(served.stdout).tools.map((tool: { name: string }) => tool.name);
    expect(names).toContain("mem.read_graph");
    const none = await cellar(["tools", "list", "no-such-tool"]);
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("no tool matches")]);
  });

  it("calls a tool, with arguments from the line or from stdin", async (context) => {
    const lack = await sandboxAbsence();
    if (lack !== undefined) context.skip(lack);
    const shop = file("shop.yaml", SHOP);
    const call = (...args: string[]) => cellar(["tools", "call", "--file", shop, ...args]);
    expect(await call("price", '{"net": 2}')).toMatchObject({
      code: 0,
      stdout: '{\n  "gross": 4\n}\n',
    });
    const piped = await cellar(["tools", "call", "--file", shop, "price", "-"], {
      input: '{"net": 3}',
    });
    expect(piped.stdout).toContain("6");
    const refused = await call("clear");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("--yes")]);
    expect((await call("clear", "--yes")).stdout).toBe("gone\n");
  });

  it("asks a person at a terminal", async (context) => {
    const lack = await sandboxAbsence();
    if (lack !== undefined) context.skip(lack);
    const shop = file("shop.yaml", SHOP);
    for (const [typed, shown] of [
      ["y\r", /gone/],
      ["n\r", /not approved/],
    ] as const) {
      using screen = new Screen(["tools", "call", "--file", shop, "clear"]);
      await screen.sees(/clear is destructive[\s\S]*\[y\/n\/always\]/);
      screen.type(typed);
      await screen.sees(shown);
    }
  });

  it("says what is wrong with a call", async () => {
    const shop = file("shop.yaml", SHOP);
    const cases: [string[], RegExp][] = [
      [["prise", "{}"], /there is no tool "prise"; did you mean price\?/],
      [["price", "{}"], /invalid arguments: net/],
      [["price", "net=2"], /no JSON/],
      [["price", '{"net": "x"}'], /invalid arguments: net/],
    ];
    for (const [args, why] of cases) {
      const { code, stderr } = await cellar(["tools", "call", "--file", shop, ...args]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(why)]);
    }
  });

  it("checks a file, and names every line that is wrong", async () => {
    const good = await cellar(["tools", "check", file("shop.yaml", SHOP)]);
    expect(good).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("2 tools, no mistakes"),
    });
    const bad = file(
      "bad.yaml",
      SHOP.replace("type: number", "type: numbr").replace("destructive", "destructiv"),
    );
    const { code, stderr } = await cellar(["tools", "check", bad]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/bad\.yaml:5: .*numbr/);
    expect(stderr).toMatch(/bad\.yaml:9: .*did you mean destructive\?/);
    const missing = await cellar(["tools", "check", join(folder, "none.yaml")]);
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("none.yaml")]);
  });
});
