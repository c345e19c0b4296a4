import { connect, type Socket } from "node:net";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { aborted, heldModel, posted, question, serve } from "../../../test/support/chat-server.js";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { shutdown } from "../../backends/shared.js";
import { scripted } from "../../rlm/models/scripted.js";
import type { ChatServer } from "./chat-server.js";

const { runtime, unavailable } = await openNativeRuntime();

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  await shutdown();
});

function dial({ address }: ChatServer): Socket {
  return connect(Number(new URL(address).port), "127.0.0.1");
}

function heard(socket: Socket, wanted: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      if (text.includes(wanted)) resolve();
    });
    socket.once("close", () => reject(new Error(`${wanted} did not come: ${text}`)));
  });
}

describe("a connection that behaves badly", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  it("cancels all runs of a client that asked twice over one connection, and goes", async () => {
    const held = heldModel();
    await using server = await serve({ model: held.model });
    const socket = dial(server);
    socket.write(posted(question("a")).repeat(2));
    await held.isAsked(2);
    socket.destroy();
    await Promise.all(held.asked.map(aborted));
    held.answerAll("");
  });

  it("starts no run when it closes, though a connection that is open brings one", async () => {
    const held = heldModel();
    const server = await serve({ model: held.model });
    const head = "POST /v1/models HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n\r\n";
    // Both are refused, and the server waits for the rest of what they send.
    const [one, other] = [dial(server), dial(server)];
    for (const socket of [one, other]) {
      socket.write(head);
      await heard(socket, "405");
    }
    const closing = server.close();
    one.write(`x${posted(question("a"))}`);
    await heard(one, "the server is closing");
    other.destroy();
    await closing;
    expect(held.asked).toEqual([]);
  });

  it("closes the connection of a client that does not read its answer", async () => {
    const model = scripted([`FINAL(${"x".repeat(20_000_000)})`]);
    await using server = await serve({ model, patience: 50 });
    const socket = dial(server).pause();
    const refused = new Promise((resolve) => socket.once("error", resolve));
    socket.write(posted(question("a")));
    // Who does not read learns it only by writing, and that must be seldom: it is a sign of life.
    const nudging = setInterval(() => socket.write("\r\n"), 500);
    await refused;
    clearInterval(nudging);
  });
});
