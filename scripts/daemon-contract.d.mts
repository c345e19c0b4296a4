import type { Plugin } from "vite";

export declare function daemonContractPlugin(): Plugin;
