import { execFileSync } from "node:child_process";
import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { beforeEach, describe, expect, it } from "vitest";
import { guestEnvironment } from "../../../isolation/bwrap.js";
import { executablesOn } from "../../../isolation/layout.js";
import { GIVEN_ENVIRONMENT, QUESTIONS } from "./probe.js";

const [python = ""] = executablesOn(process.env.PATH ?? "", "python3");

/** Binds to the port it goes to, as the kernel may by chance. */
const MEETING_ITSELF = `
import socket
def meet_itself(address, timeout):
    connection = socket.socket()
    connection.bind(("127.0.0.1", address[1]))
    connection.connect(("127.0.0.1", address[1]))
    return connection
socket.create_connection = meet_itself
`;

function ask(port: number, before = ""): { reaches_host: boolean } {
  const script = `${before}
_canary, _port = "/nowhere", ${port}
${QUESTIONS}
import json
print(json.dumps({"reaches_host": answer["reaches_host"]}))`;
  return JSON.parse(execFileSync(python, ["-c", script], { encoding: "utf8" }));
}

async function withServer(work: (port: number, server: Server) => void): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    work((server.address() as AddressInfo).port, server);
  } finally {
    server.close();
  }
}

describe("the probe of the environment", () => {
  it("takes nothing for the host's that the wall sets itself", () => {
    const names = Object.keys(guestEnvironment("/usr/bin/python3"));
    expect(names.filter((name) => !GIVEN_ENVIRONMENT.test(name))).toEqual([]);
    expect(["XDG_RUNTIME_DIR", "SSH_AUTH_SOCK"].filter((n) => GIVEN_ENVIRONMENT.test(n))).toEqual(
      [],
    );
  });
});

describe("the probe of the network", () => {
  beforeEach((context) => {
    if (python === "") context.skip("no python3 on the PATH");
  });

  it("finds a port of the host that is in reach", () =>
    withServer((port) => expect(ask(port).reaches_host).toBe(true)));

  it("does not take a connection that met itself for one", () =>
    withServer((port, server) => {
      server.close();
      expect(ask(port).reaches_host).toBe(false);
      expect(ask(port, MEETING_ITSELF).reaches_host).toBe(false);
    }));
});
