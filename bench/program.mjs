import { spawn } from "node:child_process";
import { once } from "node:events";

/** Runs a program and returns what it printed; throws if it fails, which would be measured as fast. */
export async function succeed(file, args, env = process.env) {
  const child = spawn(file, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    printed += text;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${file} ${args.join(" ")} exited with ${code}`);
  return printed;
}
