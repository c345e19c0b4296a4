import type { Contract } from "./channel.js";

/**
 * What a client of the daemon accepts, compiled by scripts/daemon-contract.mjs from protocol/schema.json:
 * loading zod and the schemas of messages.ts would take longer than a cell.
 */
export declare const daemonContract: Contract;
