import {
  INVALID_PARAMS,
  type JSONRPCMessage,
  ProtocolError,
  type RequestId,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { addressOf } from "../../tools/addresses.js";

/** URIs that one client may watch. */
const MOST_WATCHED = 1_000;

const listenSchema = z.object({
  id: z.union([z.string(), z.number()]),
  method: z.literal("subscriptions/listen"),
  params: z.object({
    notifications: z.object({ resourceSubscriptions: z.array(z.string()) }),
  }),
});

const cancelSchema = z.object({
  method: z.literal("notifications/cancelled"),
  params: z.object({ requestId: z.union([z.string(), z.number()]) }),
});

/** The resources that one client subscribed to, under either revision of MCP. */
export class Subscriptions {
  readonly #single = new Set<string>();
  readonly #listened = new Map<RequestId, readonly string[]>();

  /** As clients of the 2025 revisions ask, one by one. */
  add(uri: string): void {
    if (sessionOf(uri) === undefined) {
      throw new ResourceNotFoundError(uri, "the URI does not name a notebook or cell");
    }
    if (this.#size >= MOST_WATCHED && !this.#single.has(uri)) {
      throw new ProtocolError(INVALID_PARAMS, `more than ${MOST_WATCHED} subscriptions`);
    }
    this.#single.add(uri);
  }

  delete(uri: string): void {
    this.#single.delete(uri);
  }

  /** Revision of 2026: all at once, for as long as the request is open. */
  readonly observe = (message: JSONRPCMessage): void => {
    if (!("method" in message)) return;
    if (message.method === "subscriptions/listen") {
      const { data } = listenSchema.safeParse(message);
      const uris = data?.params.notifications.resourceSubscriptions ?? [];
      const most = MOST_WATCHED - this.#size;
      if (data !== undefined && most > 0) this.#listened.set(data.id, uris.slice(0, most));
    } else if (message.method === "notifications/cancelled") {
      const { data } = cancelSchema.safeParse(message);
      if (data !== undefined) this.#listened.delete(data.params.requestId);
    }
  };

  /** What is watched of one notebook. */
  of(session: string): readonly string[] {
    const all = new Set([...this.#single, ...[...this.#listened.values()].flat()]);
    return [...all].filter((uri) => sessionOf(uri) === session);
  }

  get #size(): number {
    let size = this.#single.size;
    for (const uris of this.#listened.values()) size += uris.length;
    return size;
  }
}

function sessionOf(uri: string): string | undefined {
  try {
    return addressOf(uri).session;
  } catch {
    return undefined;
  }
}
