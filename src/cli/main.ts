#!/usr/bin/env node
const args = process.argv.slice(2);
const [first, ...others] = args;
if ((first === "--version" || first === "-V") && others.length === 0) {
  const { packageVersion } = await import("../config/environment.js");
  console.log(packageVersion());
} else {
  if (first === "exec") {
    const { execQuickly } = await import("./fast-exec.js");
    await execQuickly(others);
  }
  const { runToEnd } = await import("./program.js");
  await runToEnd(args);
}
export {};
