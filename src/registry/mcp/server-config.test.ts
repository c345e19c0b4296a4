import { afterEach, describe, expect, it, vi } from "vitest";
import { readServers } from "./server-config.js";
import { mcpSources } from "./sources.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("an mcpServers block", () => {
  it("has servers over stdio and over HTTP, with fields of other clients beside", () => {
    const servers = readServers({
      github: {
        command: "npx",
        args: ["-y", "server"],
        env: { TOKEN: "t" },
        cwd: "/tmp",
        alwaysAllow: ["x"],
        timeout: 60,
      },
      docs: { type: "streamable-http", url: "https://docs.example/mcp", headers: { "X-Key": "k" } },
      off: { command: "never", disabled: true },
    });
    expect(servers).toEqual([
      {
        transport: "stdio",
        name: "github",
        command: "npx",
        args: ["-y", "server"],
        env: { TOKEN: "t" },
        cwd: "/tmp",
      },
      {
        transport: "http",
        name: "docs",
        url: new URL("https://docs.example/mcp"),
        headers: { "X-Key": "k" },
      },
    ]);
  });

  it("may be the whole file of settings", () => {
    expect(readServers({ mcpServers: { one: { command: "x" } } })).toHaveLength(1);
  });

  it("may name variables of the environment", () => {
    vi.stubEnv("CELLAR_TEST_TOKEN", "t-1");
    const used = (name: string) => `\${${name}}`;
    const env = {
      A: `Bearer ${used("CELLAR_TEST_TOKEN")}`,
      B: used("CELLAR_TEST_NONE:-b"),
      C: used("env:CELLAR_TEST_TOKEN"),
    };
    expect(readServers({ one: { command: "x", env } })).toMatchObject([
      { env: { A: "Bearer t-1", B: "b", C: "t-1" } },
    ]);
  });

  it.each([
    [[], /^mcpServers must be an object, not a list$/],
    [{ one: "npx" }, /^mcpServers\.one must be an object, not a string$/],
    [{ one: {} }, /^mcpServers\.one\.command is missing$/],
    [{ one: { command: 5 } }, /^mcpServers\.one\.command must be a text$/],
    [{ one: { command: "x", args: "y" } }, /^mcpServers\.one\.args must be a list$/],
    [{ one: { command: "x", args: ["y", 1] } }, /^mcpServers\.one\.args\.1 must be a text$/],
    [{ one: { command: "x", env: { K: 1 } } }, /^mcpServers\.one\.env\.K must be a text$/],
    [{ one: { command: "x", cwd: 1 } }, /^mcpServers\.one\.cwd must be a text$/],
    [
      { one: { command: "x", disabled: "yes" } },
      /^mcpServers\.one\.disabled must be true or false$/,
    ],
    [{ one: { command: "x", url: "http://a" } }, /^mcpServers\.one\.url cannot stand beside/],
    [{ one: { url: "ftp://a" } }, /^mcpServers\.one\.url is not an http or https address$/],
    [{ one: { url: "http://me:pw@a" } }, /^mcpServers\.one\.url has a name or password/],
    [{ one: { url: "http://a", type: "sse" } }, /^mcpServers\.one\.type is "sse"/],
    [{ one: { url: "http://a", type: "ws" } }, /^mcpServers\.one\.type must be one of stdio, http/],
    [
      { one: { url: "http://a", headers: { K: "a\nb" } } },
      /^mcpServers\.one\.headers\.K is no valid/,
    ],
    [
      { one: { command: `\${CELLAR_TEST_NONE}` } },
      /^mcpServers\.one\.command uses \$\{CELLAR_TEST_NONE\}/,
    ],
  ])("is refused with server and field: %j", (block, message) => {
    expect(() => readServers(block)).toThrow(
      expect.objectContaining({
        code: "INVALID_CONFIG",
        message: expect.stringMatching(message),
        remedy: expect.any(String),
      }),
    );
  });

  it("never shows a value that may be secret", () => {
    const block = { one: { url: "http://a", headers: { Key: "secret-\u0000-value" } } };
    expect(() => readServers(block)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("secret-") }),
    );
  });

  it("gives each server a group that Python takes, and none twice", () => {
    const server = { command: "x" };
    const block = {
      "my-files": server,
      my_files: server,
      "2fa": server,
      import: server,
      "→": server,
    };
    expect(mcpSources(block).map(({ group }) => group)).toEqual([
      "my_files",
      "my_files_2",
      "server_2fa",
      "import_",
      "server",
    ]);
  });
});
