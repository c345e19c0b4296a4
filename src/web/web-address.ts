import { type Authority, parseAuthority } from "../egress/authority.js";
import { CellarError } from "../errors.js";
import { refused, shownAddress } from "./failures.js";

const LONGEST_URL = 4096;
const DEFAULT_PORTS = { "http:": 80, "https:": 443 } as const;

/** Where a request goes. The host is what the URL's parser found, never a second reading of the text. */
export interface WebAddress {
  readonly url: URL;
  readonly target: Authority;
  readonly isSecure: boolean;
}

export function parseWebAddress(text: string, base?: URL): WebAddress {
  if (text.length > LONGEST_URL) throw malformed(`${text.slice(0, 60)}…`, "it is too long");
  if (!URL.canParse(text, base?.href)) throw malformed(text, "it is not a URL");
  const url = new URL(text, base?.href);
  const port = portOf(url, text);
  if (url.username !== "" || url.password !== "") {
    throw refused(
      `${shownAddress(url)} was given with a name or password, which URLs may not have here`,
      "Leave out everything between // and @.",
    );
  }
  const target = parseAuthority(url.host, port);
  if (target === undefined) throw malformed(text, "it does not name a host clearly");
  url.hash = "";
  return { url, target, isSecure: url.protocol === "https:" };
}

function portOf({ protocol }: URL, text: string): number {
  if (protocol === "http:" || protocol === "https:") return DEFAULT_PORTS[protocol];
  throw malformed(text, `${protocol.slice(0, 20)} is neither http: nor https:`);
}

function malformed(text: string, why: string): CellarError {
  const shown = JSON.stringify(text.slice(0, 200).replace(/\/\/[^/]*@/, "//…@"));
  return new CellarError("INVALID_INPUT", `${shown} cannot be fetched: ${why}`, {
    remedy: "Give an address such as https://example.org/page.",
  });
}
