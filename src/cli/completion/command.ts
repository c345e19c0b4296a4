import type { Command } from "commander";
import { EXIT } from "../exit-codes.js";
import { placeOf } from "../options/notebook-place.js";
import { completionScript, SHELLS } from "./scripts.js";
import { completeWords } from "./words.js";

const NOTES = `
Put one of these where your shell reads it at its start:
  bash   eval "$(cellar completion bash)"                              in ~/.bashrc
  zsh    eval "$(cellar completion zsh)"                               in ~/.zshrc, after compinit
  fish   cellar completion fish > ~/.config/fish/completions/cellar.fish`;

export type Tree = (called: string | undefined) => Promise<Command>;

export function registerCompletion(
  program: Command,
  finish: (code: number) => void,
  further: readonly string[],
  tree: Tree,
): void {
  const command = program
    .command("completion")
    .description("print a script that completes commands and options in your shell")
    .addHelpText("after", NOTES);
  for (const shell of SHELLS) {
    command
      .command(shell)
      .description(`the script for ${shell}`)
      .action(() => {
        process.stdout.write(completionScript(shell));
        finish(EXIT.ok);
      });
  }
  command
    .command("words", { hidden: true })
    .argument("[words...]")
    .action(async () => finish(await tellWords(further, tree)));
}

async function tellWords(words: readonly string[], tree: Tree): Promise<number> {
  const program = await tree(words.length > 1 ? words[0] : undefined);
  const { words: found, files } = await completeWords(program, words, async (options) => {
    const { listNotebooks } = await import("../../notebook/document/list.js");
    const { dir, user } = placeOf(options);
    return (await listNotebooks({ dir, user })).map(({ session }) => session);
  });
  const lines = found.map(({ word, about }) => (about === undefined ? word : `${word}\t${about}`));
  process.stdout.write([...lines, ...(files ? [":files"] : []), ""].join("\n"));
  return EXIT.ok;
}
