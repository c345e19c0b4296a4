import type { Duplex } from "node:stream";
import { Channel, type ChannelOptions, type Contract } from "./channel.js";
import { type Method, messages, parseEnvelope, type RequestMethod } from "./messages.js";

export const contract: Contract = {
  envelope: parseEnvelope,
  kind: (method) => (Object.hasOwn(messages, method) ? messages[method as Method].kind : undefined),
  params: (method, value) => messages[method].params.safeParse(value).data,
  result: (method: RequestMethod, value) => messages[method].result.safeParse(value).data,
};

/** A channel that validates with the zod schemas. */
export class Peer extends Channel {
  constructor(stream: Duplex, options: ChannelOptions = {}) {
    super(stream, contract, options);
  }
}
