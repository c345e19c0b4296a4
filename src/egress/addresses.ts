import { BlockList, isIP, isIPv4 } from "node:net";

/** IPv4 ranges outside the public network. */
const SPECIAL_V4: Readonly<Record<string, readonly string[]>> = {
  unspecified: ["0.0.0.0/8"],
  loopback: ["127.0.0.0/8"],
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"],
  "shared by carriers": ["100.64.0.0/10"],
  "link-local": ["169.254.0.0/16"],
  "of a cloud's metadata": ["168.63.129.16/32"],
  multicast: ["224.0.0.0/4"],
  "for documentation": ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"],
  reserved: [
    "192.0.0.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "240.0.0.0/4",
  ],
};

/** IPv6 ranges with a name; everything else outside `PUBLIC_V6` is refused too. */
const SPECIAL_V6: Readonly<Record<string, readonly string[]>> = {
  unspecified: ["::/128"],
  loopback: ["::1/128"],
  "IPv4 inside IPv6": ["::ffff:0:0/96", "::ffff:0:0:0/96", "::/96"],
  NAT64: ["64:ff9b::/96", "64:ff9b:1::/48"],
  private: ["fc00::/7", "fec0::/10"],
  "link-local": ["fe80::/10"],
  multicast: ["ff00::/8"],
  Teredo: ["2001::/32"],
  "6to4": ["2002::/16"],
  "for documentation": ["2001:db8::/32", "3fff::/20"],
  reserved: ["2001::/23", "2620:4f:8000::/48"],
};
const PUBLIC_V6 = "2000::/3";

type Ranges = readonly (readonly [string, BlockList])[];

export class AddressTable {
  readonly #special = { 4: rangesOf(SPECIAL_V4), 6: rangesOf(SPECIAL_V6) } as const;
  readonly #public = blockList([PUBLIC_V6]);

  /** Undefined for a public address. */
  kindOf(address: string): string | undefined {
    const session = isIP(address);
    // A zone names an interface of the host.
    if ((session !== 4 && session !== 6) || address.includes("%")) return "not plain";
    const type = session === 4 ? "ipv4" : "ipv6";
    const kind = this.#special[session].find(([, list]) => list.check(address, type))?.[0];
    if (kind !== undefined || session === 4) return kind;
    return this.#public.check(address, type) ? undefined : "reserved";
  }
}

function rangesOf(ranges: Readonly<Record<string, readonly string[]>>): Ranges {
  return Object.entries(ranges).map(([kind, list]) => [kind, blockList(list)]);
}

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", bits] = range.split("/");
    list.addSubnet(network, Number(bits), isIPv4(network) ? "ipv4" : "ipv6");
  }
  return list;
}
