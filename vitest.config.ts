import { defaultExclude, defineConfig } from "vitest/config";
import { daemonContractPlugin } from "./scripts/daemon-contract.mjs";

export default defineConfig({
  plugins: [daemonContractPlugin()],
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: [...defaultExclude, "**/*.case.test.ts"],
    pool: "forks",
    maxWorkers: 2,
    // They end what hangs; that a machine is busy is no reason to fail.
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
