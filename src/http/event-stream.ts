import { HttpFault } from "./http-fault.js";

/** Far longer than any event of a model. */
const MAX_EVENT_LENGTH = 8 * 1024 * 1024;
const LINE_END = /\r\n|\r|\n/;

/** Reads the data of server-sent events from bytes that are cut anywhere. */
export class EventStreamDecoder {
  readonly #decoder = new TextDecoder();
  #line = "";
  #isAfterReturn = false;
  #data: string[] = [];
  #length = 0;

  push(bytes: Uint8Array): string[] {
    return this.#read(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Some servers close without the empty line that ends an event. */
  end(): string[] {
    return this.#read(`${this.#decoder.decode()}\n\n`);
  }

  #read(text: string): string[] {
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

  #take(line: string): string[] {
    if (line === "") return this.#finish();
    const [, field = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "data") {
      this.#data.push(value);
      this.#length += value.length;
    }
    return [];
  }

  #finish(): string[] {
    const events = this.#data.length === 0 ? [] : [this.#data.join("\n")];
    this.#data = [];
    this.#length = 0;
    return events;
  }
}
