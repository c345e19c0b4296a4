/** Version of the contract in protocol/README.md, counted apart from the package's version. */
export const PROTOCOL_VERSION = 1;

/** A frame longer than this ends the link before a byte of it is stored. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** The same between a client and its daemon, both of one user, where whole results travel. */
export const MAX_DAEMON_FRAME_BYTES = 256 * 1024 * 1024;

/** A cell's source longer than this is refused on the host. */
export const MAX_SOURCE_BYTES = 8 * 1024 * 1024;

/** Words of a script's command line. */
export const MAX_ARGUMENTS = 1000;

/** Arrays and objects inside each other in one message. */
export const MAX_JSON_DEPTH = 256;

/** Array elements and object members in one message, counted together. */
export const MAX_JSON_VALUES = 1_000_000;

/** The same for messages that a schema validates; each invalid value costs an issue. */
export const MAX_CHECKED_VALUES = 100_000;

/** So little text holds nothing that could cost much. */
export const SURELY_CHEAP_BYTES = 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * What makes a JSON text too expensive to parse and check, or undefined. A few megabytes of `{},`
 * become gigabytes of objects and schema issues, so this is checked on the bytes.
 */
export function excessOf(body: Buffer, maxValues = MAX_JSON_VALUES): string | undefined {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < body.length; at++) {
    switch (body[at]) {
      case QUOTE:
        at = endOfString(body, at);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth++;
        values++;
        if (depth > MAX_JSON_DEPTH) return `is nested more than ${MAX_JSON_DEPTH} deep`;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth--;
        break;
      case COMMA:
        values++;
        break;
    }
    if (values > maxValues) return `holds more than ${maxValues} values`;
  }
  return undefined;
}

/** Where the string that opens at `start` closes; past the text when it never does. */
function endOfString(body: Buffer, start: number): number {
  let at = start + 1;
  while (at < body.length && body[at] !== QUOTE) at += body[at] === BACKSLASH ? 2 : 1;
  return at;
}
