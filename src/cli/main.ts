#!/usr/bin/env node
const args = process.argv.slice(2);
if (args[0] === "exec") {
  const { execQuickly } = await import("./fast-exec.js");
  await execQuickly(args.slice(1));
}
const { runToEnd } = await import("./program.js");
await runToEnd(args);
export {};
