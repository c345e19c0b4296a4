import { describe, expect, it } from "vitest";
import { isCellarError } from "../errors.js";
import { AddressTable } from "./addresses.js";
import { AllowList } from "./allow-list.js";
import { parseAuthority } from "./authority.js";

function verdict(allow: readonly string[], url: string): string {
  const target = parseAuthority(url, 443);
  if (target === undefined) return "unreadable";
  return new AllowList(allow).refusalOf(target) === undefined ? "allowed" : "refused";
}

describe("an allow-list", () => {
  it.each([
    ["example.org", "example.org", "allowed"],
    ["example.org", "EXAMPLE.Org", "allowed"],
    ["example.org", "example.org.", "allowed"],
    ["example.org", "example.org:80", "allowed"],
    ["example.org", "example.org:8080", "refused"],
    ["example.org", "example.org:22", "refused"],
    ["example.org", "sub.example.org", "refused"],
    ["example.org", "example.org.evil.net", "refused"],
    ["example.org", "badexample.org", "refused"],
    ["*.example.org", "a.b.example.org", "allowed"],
    ["*.example.org", "example.org", "refused"],
    ["*.example.org", "badexample.org", "refused"],
    ["example.org:8080", "example.org:8080", "allowed"],
    ["example.org:8080", "example.org:443", "refused"],
    ["bücher.example", "xn--bcher-kva.example", "allowed"],
    ["xn--bcher-kva.example", "BÜCHER.example", "allowed"],
    ["example.org", "ехample.org", "refused"],
    ["example.org", "example。org", "allowed"],
    ["127.0.0.1:8080", "127.0.0.1:8080", "allowed"],
    ["127.0.0.1:8080", "0x7f.1:8080", "allowed"],
    ["127.0.0.1:8080", "2130706433:8080", "allowed"],
    ["example.org", "2130706433", "refused"],
    ["[::1]:8080", "[0:0:0:0:0:0:0:1]:8080", "allowed"],
    ["::1", "[::1]:443", "allowed"],
    ["example.org", "[::1]", "refused"],
    ["example.org", "evil.net@example.org", "unreadable"],
    ["example.org", "example.org@evil.net", "unreadable"],
    ["example.org", "evil.net\\@example.org", "unreadable"],
    ["example.org", "example.org%2eevil.net", "unreadable"],
    ["example.org", "example.org%00.evil.net", "unreadable"],
    ["example.org", "example\t.org", "unreadable"],
    ["example.org", "exam\u00adple.org", "unreadable"],
    ["example.org", "example..org", "unreadable"],
    ["example.org", "", "unreadable"],
    ["example.org", "example.org:0", "unreadable"],
    ["example.org", "example.org:65536", "unreadable"],
    ["example.org", "example.org:443:80", "unreadable"],
    ["example.org", "[fe80::1%25eth0]", "unreadable"],
    ["example.org", "1.2.3.4.5", "unreadable"],
  ])("of %s finds %s %s", (entry, url, expected) => {
    expect(verdict([entry], url)).toBe(expected);
  });

  it.each([
    "",
    "*",
    "*.",
    "a*.org",
    "https://example.org",
    "example.org/path",
    "*.1.2",
    "a b",
    "a:b",
  ])("refuses %j as an entry", (entry) => {
    const make = () => new AllowList([entry]);
    expect(make).toThrow("does not name a host");
    try {
      make();
    } catch (error) {
      expect(isCellarError(error, "INVALID_CONFIG")).toBe(true);
    }
  });

  it("reaches a special address only where the address itself is listed", () => {
    const refusal = (allow: string[], host: string, address: string) =>
      new AllowList(allow).addressRefusalOf({ host, port: 443 }, address);
    expect(refusal(["example.org"], "example.org", "93.184.215.14")).toBeUndefined();
    expect(refusal(["example.org"], "example.org", "10.0.0.7")).toContain("private");
    expect(refusal(["example.org", "10.0.0.7"], "example.org", "10.0.0.7")).toBeUndefined();
    expect(refusal(["example.org", "10.0.0.7:80"], "example.org", "10.0.0.7")).toContain(
      "10.0.0.7",
    );
    expect(refusal(["localhost"], "localhost", "127.0.0.1")).toBeUndefined();
    expect(refusal(["localhost"], "localhost", "10.0.0.7")).toContain("private");
    expect(refusal(["localhost", "example.org"], "example.org", "127.0.0.1")).toContain("loopback");
  });
});

describe("the table of addresses", () => {
  const table = new AddressTable();

  it.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::a00:1",
    "100::1",
    "2001::1",
    "2001:2::1",
    "2001:10::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "3fff::1",
    "4000::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1%eth0",
    "fec0::1",
    "ff02::1",
    "nonsense",
  ])("finds %s special", (address) => {
    expect(table.kindOf(address)).toBeTypeOf("string");
  });

  it.each(["1.1.1.1", "8.8.8.8", "100.63.255.255", "172.32.0.1", "223.255.255.255"])(
    "finds %s public",
    (address) => expect(table.kindOf(address)).toBeUndefined(),
  );

  it.each(["2606:4700:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888"])(
    "finds %s public",
    (address) => expect(table.kindOf(address)).toBeUndefined(),
  );
});
