import { isIP, isIPv6 } from "node:net";
import { CellarError } from "../errors.js";
import { AddressTable } from "./addresses.js";
import { type Authority, parseAuthority, shortestV6 } from "./authority.js";
import type { NetworkPolicy } from "./network-policy.js";

const USUAL_PORTS = [80, 443] as const;

interface Entry {
  readonly host: string;
  /** Subdomains of the host, not the host itself. */
  readonly isWildcard: boolean;
  readonly ports: readonly number[];
}

/** Why access is refused; undefined where it is allowed. */
export type Refusal = string | undefined;

/** The hosts that a session may reach: `example.org`, `*.example.org`, `example.org:8080`. */
export class AllowList implements NetworkPolicy {
  readonly entries: readonly string[];
  readonly #entries: readonly Entry[];
  readonly #table = new AddressTable();

  constructor(entries: readonly string[]) {
    this.entries = [...entries];
    this.#entries = entries.map(parseEntry);
  }

  /** By name and port, before the name is resolved. */
  refusalOf({ host, port }: Authority): Refusal {
    const matching = this.#entries.filter((entry) => matches(entry, host));
    if (matching.length === 0) return `${host} is not in the list of allowed hosts`;
    if (matching.some(({ ports }) => ports.includes(port))) return undefined;
    const ports = [...new Set(matching.flatMap((entry) => entry.ports))].join(", ");
    return `port ${port} of ${host} is not allowed, only ${ports}`;
  }

  mentions(host: string): boolean {
    return this.#entries.some((entry) => matches(entry, host));
  }

  /** By the address that an allowed host resolved to. */
  addressRefusalOf({ host, port }: Authority, address: string): Refusal {
    const kind = this.#table.kindOf(address);
    if (kind === undefined) return undefined;
    if (kind === "loopback" && isLocalName(host)) return undefined;
    if (this.#names(address, port)) return undefined;
    return `${host} has the address ${address}, which is ${kind} and not itself in the list`;
  }

  #names(address: string, port: number): boolean {
    const plain = isIPv6(address) ? shortestV6(address) : address;
    return this.#entries.some(({ host, ports }) => host === plain && ports.includes(port));
  }
}

/** These names never leave the machine, so listing them names its loopback. */
export function isLocalName(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}

function matches(entry: Entry, host: string): boolean {
  return entry.isWildcard ? host.endsWith(`.${entry.host}`) : host === entry.host;
}

function parseEntry(text: string): Entry {
  const isWildcard = text.startsWith("*.");
  const rest = isWildcard ? text.slice(2) : text;
  if (isIPv6(rest) && !isWildcard) {
    return { host: shortestV6(rest) ?? refuse(text), isWildcard, ports: USUAL_PORTS };
  }
  const authority = parseAuthority(rest, USUAL_PORTS[0]);
  if (authority === undefined || (isWildcard && isIP(authority.host) !== 0)) return refuse(text);
  const ports = /:\d+$/.test(rest) ? [authority.port] : USUAL_PORTS;
  return { host: authority.host, isWildcard, ports };
}

function refuse(text: string): never {
  throw new CellarError("INVALID_CONFIG", `network: ${JSON.stringify(text)} does not name a host`, {
    remedy:
      'Give names such as "example.org", "*.example.org" or "example.org:8080", without https:// ' +
      "and without a path.",
    details: { entry: text },
  });
}
