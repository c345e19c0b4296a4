#!/usr/bin/env node
import { leave, watchProcess } from "./process-end.js";
import { runCommandLine } from "./program.js";

watchProcess();
await leave(await runCommandLine(process.argv.slice(2)));
