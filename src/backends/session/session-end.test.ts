import { describe, expect, it } from "vitest";
import { open } from "../../../test/support/far-end.js";
import { CellarError } from "../../errors.js";
import { Session } from "./session.js";

const SESSION = { protocol: 1, session: "one", token: "x", branch: 0, generation: 0 };
const HELLO = { ...SESSION, python: "3.11.7", abilities: [] };

/** A session with its two links, and a question on each. */
function begin() {
  const session = new Session("one", { isCrowded: () => false });
  const [init, head] = [open(), open()];
  session.welcome({ ...HELLO, role: "init" }, init.peer);
  session.welcome({ ...HELLO, role: "head" }, head.peer);
  const asked = Promise.allSettled([
    init.peer.request("checkpoints", { branch: 0 }),
    head.peer.request("variables", {}),
  ]);
  return { session, asked };
}

describe("the end of a session", () => {
  it.each([
    ["that was lost", (session: Session) => session.markLost(lost()), "SESSION_LOST"],
    ["that the host closed", (session: Session) => session.close(), "SESSION_CLOSED"],
  ])("%s is told to whoever waits for it", async (_, end, code) => {
    const { session, asked } = begin();
    await session.head(0, 0);
    end(session);
    for (const outcome of await asked) expect(outcome).toMatchObject({ reason: { code } });
    expect(await session.ended).toMatchObject({ code });
  });

  it("is waited for where its processes reach what is not theirs alone", async () => {
    const LONG = 60_000;
    const quiet = new Session("one", { mayEndAside: () => true });
    await quiet.end(LONG);
    const outward = new Session("two", { mayEndAside: () => true });
    outward.reachesOut = true;
    let isOver = false;
    const ending = outward.end(LONG).then(() => {
      isOver = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isOver).toBe(false);
    outward.markExited(lost());
    await ending;
  });
});

function lost(): CellarError {
  return new CellarError("SESSION_LOST", "the sandbox process ended");
}
