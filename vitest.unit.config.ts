import { defineConfig } from "vitest/config";
import { testSources, unitFiles } from "./test/unit-files.js";
import whole from "./vitest.config.js";

// mergeConfig would add these to the files of the whole.
const include = unitFiles(testSources(import.meta.dirname));

// Modules keep no state, and loading them anew for each file takes as long as the tests.
export default defineConfig({ ...whole, test: { ...whole.test, include, isolate: false } });
