import { CellarError, describeError } from "../../../errors.js";
import type { Peer } from "../../../protocol/peer.js";
import type { LargeContext } from "../../session/context/context.js";
import type { Listener } from "../zygote/listener.js";
import { SessionForker } from "../zygote/session-forker.js";
import type { Zygote } from "../zygote/zygote.js";
import { type DescriptorRoute, sendDescriptor } from "./send-descriptor.js";

/** The slowest disk reads this much. */
const SLOWEST_BYTES_PER_MS = 2_000;
const READING_MS = 60_000;

export interface TemplateContext {
  readonly zygote: Zygote;
  readonly listener: Listener;
  readonly route: DescriptorRoute;
  readonly temporary: string;
}

/** The host's side of a process that holds one context and forks the sessions that share it. */
export class Template {
  readonly #peer: Peer;
  readonly forker: SessionForker;

  private constructor(peer: Peer, listener: Listener, supervisor: Peer) {
    this.#peer = peer;
    this.forker = new SessionForker(peer, listener, supervisor);
    peer.closed.then((reason) => this.forker.lose("process with the context", reason));
  }

  static async make(context: LargeContext, tools: TemplateContext): Promise<Template> {
    const { zygote, listener, route, temporary } = tools;
    await using file = await context.open(temporary);
    const peer = await zygote.template((name) => sendDescriptor(route, name, file.fd));
    const template = new Template(peer, listener, zygote.supervisor);
    try {
      await template.#read(context);
      return template;
    } catch (error) {
      template.close();
      throw error;
    }
  }

  get isAlive(): boolean {
    return this.#peer.isOpen;
  }

  close(): void {
    this.#peer.close();
  }

  async #read({ format, bytes }: LargeContext): Promise<void> {
    const patience = READING_MS + bytes / SLOWEST_BYTES_PER_MS;
    const timer = setTimeout(() => this.close(), patience);
    try {
      await this.#peer.request("read_context", { format, bytes });
    } catch (error) {
      throw unloaded(bytes, error);
    } finally {
      clearTimeout(timer);
    }
  }
}

function unloaded(bytes: number, error: unknown): CellarError {
  const reason = describeError(error);
  if (reason.startsWith("MemoryError")) {
    return new CellarError("TOO_LARGE", `the context of ${bytes} bytes does not fit into memory`, {
      remedy: "Mount its folder with the option mounts, and let cells read what they need.",
      details: { bytes },
      cause: error,
    });
  }
  return new CellarError("START_FAILED", `the context could not be loaded: ${reason}`, {
    details: { bytes },
    cause: error,
  });
}
