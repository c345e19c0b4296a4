import { HttpFault } from "./http-fault.js";

/** No event of a model is anywhere near this long. */
const MAX_EVENT_LENGTH = 8 * 1024 * 1024;
const LINE_END = /\r\n|\r|\n/;

export interface ServerEvent {
  /** "message" where the server names none. */
  readonly name: string;
  readonly data: string;
}

/** Reads server-sent events from bytes that are cut anywhere. */
export class EventStreamDecoder {
  readonly #decoder = new TextDecoder();
  #line = "";
  #isAfterReturn = false;
  #name = "";
  #data: string[] = [];
  #length = 0;

  push(bytes: Uint8Array): ServerEvent[] {
    return this.#read(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Some servers close without the empty line that ends an event. */
  end(): ServerEvent[] {
    return this.#read(`${this.#decoder.decode()}\n\n`);
  }

  #read(text: string): ServerEvent[] {
    if (text === "") return [];
    const fresh = this.#isAfterReturn && text.startsWith("\n") ? text.slice(1) : text;
    this.#isAfterReturn = text.endsWith("\r");
    const [first = "", ...others] = fresh.split(LINE_END);
    const lines = [this.#line + first, ...others];
    this.#line = lines.pop() ?? "";
    const events = lines.flatMap((line) => this.#take(line));
    if (this.#length + this.#line.length > MAX_EVENT_LENGTH) {
      throw new HttpFault(`an event has over ${MAX_EVENT_LENGTH} characters`);
    }
    return events;
  }

  #take(line: string): ServerEvent[] {
    if (line === "") return this.#finish();
    const [, field = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "event") this.#name = value;
    if (field === "data") {
      this.#data.push(value);
      this.#length += value.length;
    }
    return [];
  }

  #finish(): ServerEvent[] {
    const event = { name: this.#name || "message", data: this.#data.join("\n") };
    const isEmpty = this.#data.length === 0;
    this.#name = "";
    this.#data = [];
    this.#length = 0;
    return isEmpty ? [] : [event];
  }
}
