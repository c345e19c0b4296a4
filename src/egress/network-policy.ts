import { AddressTable } from "./addresses.js";
import type { Refusal } from "./allow-list.js";
import type { Authority } from "./authority.js";

/** Which hosts may be reached: decided by name and port first, then by the address of the name. */
export interface NetworkPolicy {
  refusalOf(target: Authority): Refusal;
  addressRefusalOf(target: Authority, address: string): Refusal;
}

/** Below this, ports other than those of the web belong to other protocols, as mail. */
const FIRST_FREE_PORT = 1024;
const WEB_PORTS: readonly number[] = [80, 443];

/** Every host of the public network, and none besides. */
export class PublicHosts implements NetworkPolicy {
  readonly #table = new AddressTable();

  refusalOf({ port, host }: Authority): Refusal {
    if (port >= FIRST_FREE_PORT || WEB_PORTS.includes(port)) return undefined;
    return `port ${port} of ${host} is not one of the web's`;
  }

  addressRefusalOf({ host }: Authority, address: string): Refusal {
    const kind = this.#table.kindOf(address);
    return kind === undefined ? undefined : `${host} has the address ${address}, which is ${kind}`;
  }
}

/** One host that the operator named, wherever it is. */
export class OneHost implements NetworkPolicy {
  readonly #named: Authority;

  constructor(named: Authority) {
    this.#named = named;
  }

  refusalOf({ host, port }: Authority): Refusal {
    if (host === this.#named.host && port === this.#named.port) return undefined;
    return `only ${this.#named.host}:${this.#named.port} may be reached`;
  }

  addressRefusalOf(): Refusal {
    return undefined;
  }
}
