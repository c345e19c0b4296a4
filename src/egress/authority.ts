import { isIP, isIPv4, isIPv6 } from "node:net";
import { domainToASCII } from "node:url";

/** A target in the spelling that is compared with the allow-list. */
export interface Authority {
  /** Lower case, ASCII, without a dot at its end; IPv6 without brackets, in its shortest form. */
  readonly host: string;
  readonly port: number;
}

const LONGEST_HOST = 253;
const AUTHORITY = /^(\[[^[\]]*\]|[^:[\]]*)(?::(\d{1,5}))?$/;
/** Characters that parsers disagree about. */
const AMBIGUOUS = /[\s\p{Cc}\p{Cf}%/\\@?#[\]:<>^|]/u;
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** `host`, `host:port` or `[v6]:port`; undefined for anything ambiguous. */
export function parseAuthority(text: string, defaultPort?: number): Authority | undefined {
  const [, name, digits] = AUTHORITY.exec(text) ?? [];
  if (name === undefined) return undefined;
  const host = name.startsWith("[") ? shortestV6(name.slice(1, -1)) : normalizeHost(name);
  const port = digits === undefined ? defaultPort : Number(digits);
  if (host === undefined || port === undefined || port < 1 || port > 65_535) return undefined;
  return { host, port };
}

/** Other spellings of IPv4 (`0x7f.1`, `2130706433`) become the usual one, Unicode becomes punycode. */
export function normalizeHost(name: string): string | undefined {
  if (AMBIGUOUS.test(name) || name.length > LONGEST_HOST + 1) return undefined;
  const ascii = domainToASCII(name).replace(/\.$/, "");
  if (isIPv4(ascii)) return ascii;
  const isName = ascii.length <= LONGEST_HOST && ascii.split(".").every((part) => LABEL.test(part));
  return isName ? ascii : undefined;
}

export function shortestV6(address: string): string | undefined {
  if (!isIPv6(address) || address.includes("%")) return undefined;
  return new URL(`http://[${address}]/`).hostname.slice(1, -1);
}

export function formatAuthority({ host, port }: Authority, defaultPort?: number): string {
  const name = isIP(host) === 6 ? `[${host}]` : host;
  return port === defaultPort ? name : `${name}:${port}`;
}
