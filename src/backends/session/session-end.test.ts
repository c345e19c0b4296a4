import { describe, expect, it } from "vitest";
import { CellarError } from "../../errors.js";
import { open } from "../../protocol/far-end.case.test.js";
import { Session } from "./session.js";

const SESSION = { protocol: 1, session: "one", token: "x", branch: 0, generation: 0 };
const HELLO = { ...SESSION, python: "3.11.7", abilities: [] };

/** A session with its two links, and a question on each. */
function session() {
  const family = new Session("one", { isCrowded: () => false });
  const [init, head] = [open(), open()];
  family.welcome({ ...HELLO, role: "init" }, init.peer);
  family.welcome({ ...HELLO, role: "head" }, head.peer);
  const asked = Promise.allSettled([
    init.peer.request("checkpoints", { branch: 0 }),
    head.peer.request("variables", {}),
  ]);
  return { family, asked };
}

describe("the end of a session", () => {
  it.each([
    ["that was lost", (family: Session) => family.markLost(lost()), "SESSION_LOST"],
    ["that the host closed", (family: Session) => family.close(), "SESSION_CLOSED"],
  ])("%s is told to whoever waits for it", async (_, end, code) => {
    const { family, asked } = session();
    await family.head(0, 0);
    end(family);
    for (const outcome of await asked) expect(outcome).toMatchObject({ reason: { code } });
    expect(await family.ended).toMatchObject({ code });
  });
});

function lost(): CellarError {
  return new CellarError("SESSION_LOST", "the sandbox process ended");
}
