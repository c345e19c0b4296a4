import type { AllowList } from "./allow-list.js";

/** Where a session finds the relay that leads to its proxy. */
const RELAY = "http://127.0.0.1:3128";
const OWN_NAMES = ["localhost", "127.0.0.1", "::1"];

/** Variables of a session's environment by which programs find the way out. */
export function proxyEnvironment(allowed: AllowList): Readonly<Record<string, string>> {
  // The session's own loopback is reached directly, unless the host's is what was allowed.
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
