import { type Authority, formatAuthority, parseAuthority } from "./authority.js";
import { Denial } from "./denial.js";

/** Headers about one connection. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const ABSOLUTE = /^http:\/\/([^/?#]*)([^#]*)$/i;
const HTTP_PORT = 80;

export function parseAbsolute(url: string): { target: Authority; path: string } {
  if (/^https:/i.test(url)) throw new Denial(400, "https:// needs CONNECT");
  const [, authority, rest = ""] = ABSOLUTE.exec(url) ?? [];
  if (authority === undefined) {
    throw new Denial(400, "this is a proxy: use CONNECT host:port or an http:// URL");
  }
  const target = parseAuthority(authority, HTTP_PORT);
  if (target === undefined) throw new Denial(400, "the address does not name a host clearly");
  return { target, path: rest.startsWith("/") ? rest : `/${rest}` };
}

export function parseConnect(url: string): Authority {
  const target = parseAuthority(url);
  if (target === undefined) throw new Denial(400, "CONNECT needs host:port");
  return target;
}

/** The headers to send on. `Host` is the one of the address, whatever the client wrote. */
export function forwardedHeaders(raw: readonly string[], target: Authority): string[] {
  const pairs = pairsOf(raw);
  return [
    ...["Host", formatAuthority(target, HTTP_PORT)],
    ...withoutHops(pairs).flat(),
    ...framing(pairs),
    ...["Connection", "close"],
  ];
}

export function returnedHeaders(raw: readonly string[]): string[] {
  const pairs = withoutHops(pairsOf(raw)).flat();
  return [...pairs, "Connection", "close"];
}

type Pair = readonly [string, string];

function pairsOf(raw: readonly string[]): Pair[] {
  return raw.flatMap((name, index): Pair[] =>
    index % 2 === 0 ? [[name, raw[index + 1] ?? ""]] : [],
  );
}

function withoutHops(pairs: readonly Pair[]): Pair[] {
  const named = valuesOf(pairs, "connection").flatMap((value) =>
    value.split(",").map((name) => name.trim().toLowerCase()),
  );
  const dropped = new Set([...HOP_BY_HOP, ...named.filter((name) => name !== "content-length")]);
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase()));
}

/** A body's length must be given once, or two readers may find different ends. */
function framing(pairs: readonly Pair[]): string[] {
  const lengths = valuesOf(pairs, "content-length");
  const codings = valuesOf(pairs, "transfer-encoding");
  if (lengths.length + codings.length > 1) {
    throw new Denial(400, "the length of the body is given twice");
  }
  const [coding] = codings;
  if (coding === undefined) return [];
  if (coding.trim().toLowerCase() === "chunked") return ["Transfer-Encoding", "chunked"];
  throw new Denial(400, "the only supported transfer encoding is chunked");
}

function valuesOf(pairs: readonly Pair[], wanted: string): string[] {
  return pairs.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
}
