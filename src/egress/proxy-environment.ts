import type { AllowList } from "./allow-list.js";

const RELAY = "http://127.0.0.1:3128";
const OWN_NAMES = ["localhost", "127.0.0.1", "::1"];

export function proxyEnvironment(allowed: AllowList): Readonly<Record<string, string>> {
  // The session's own loopback needs no proxy, unless the host's is on the list.
  const direct = OWN_NAMES.filter((host) => !allowed.mentions(host)).join(",");
  const variables = { http_proxy: RELAY, https_proxy: RELAY, all_proxy: RELAY, no_proxy: direct };
  return {
    ...variables,
    ...Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [name.toUpperCase(), value]),
    ),
    CELLAR_ALLOWED_HOSTS: allowed.entries.join(", "),
  };
}
