import type { DeathCause } from "../../protocol/messages.js";
import type { Peer } from "../../protocol/peer.js";
import type { Hello } from "./session.js";

/** A runner starts in a fraction of a second, or in seconds; a cold, loaded machine takes longer. */
const HELLO_MS = 120_000;

/** The first word of a process that is a whole session. */
export function waitForHello(peer: Peer, over: Promise<DeathCause>): Promise<Hello> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`it sent no hello message within ${HELLO_MS / 1000} s`)),
      HELLO_MS,
    );
    const settle = (act: () => void) => {
      clearTimeout(timer);
      act();
    };
    peer.on("hello", (hello) => settle(() => resolve(hello)));
    peer.closed.then((reason) => settle(() => reject(reason)));
    over.then(() => settle(() => reject(new Error("it ended before it was ready"))));
  });
}
