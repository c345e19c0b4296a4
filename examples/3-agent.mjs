// An agent's REPL over a text that its model never sees as a whole: short observations, then an answer.
import { AgentRepl, shutdown } from "cellar";

const log = Array.from({ length: 20_000 }, (_, n) =>
  n === 12_345 ? "ERROR disk of host db-3 is full" : `INFO request ${n} was served`,
).join("\n");

const agent = await AgentRepl.open({ context: log });
// In practice a model writes these cells, each after reading the previous observation.
const look = await agent.turn("hits = grep('error')\nhits");
console.log(look.observation);
const { final } = await agent.turn("FINAL(hits[0].split()[4])");
console.log("answer:", final?.value);
await agent.close();
await shutdown();
