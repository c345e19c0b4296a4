import type { Command } from "commander";

const showing = () => import("./show.js");

export function registerDemo(program: Command, finish: (code: number) => void): void {
  program
    .command("demo")
    .description("show in a few seconds what Cellar does; each line is checked")
    .action(async () => finish(await (await showing()).demo()));
}
