import type { Command, CommanderError } from "commander";

export function commandOf(program: Command, words: readonly string[]): Command {
  let command = program;
  for (const word of words) {
    const child = command.commands.find((one) => one.name() === word);
    if (child !== undefined) command = child;
    else if (!word.startsWith("-")) break;
  }
  return command;
}

export function describeMisuse(
  { code, message }: CommanderError,
  command: Command,
): { message: string; remedy: string } {
  const path = pathOf(command);
  const help = `${path} --help`;
  const [said = "", ...more] = message.replace(/^error: /, "").split("\n");
  const [, nearest] = /Did you mean (?:one of )?(.+)\?/.exec(more.join(" ")) ?? [];
  switch (code) {
    case "commander.help":
      return { message: `missing subcommand of ${path}: ${childrenOf(command)}`, remedy: help };
    case "commander.unknownCommand":
    case "commander.unknownOption":
      return {
        message: said,
        remedy: nearest === undefined ? help : `did you mean ${nearest}? See ${help}`,
      };
    case "commander.missingArgument":
    case "commander.excessArguments":
      return { message: said, remedy: `${path} ${command.usage()}` };
    default:
      return { message: [said, ...more].join(" "), remedy: help };
  }
}

function pathOf(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return names.join(" ");
}

function childrenOf(command: Command): string {
  const shown = command.createHelp().visibleCommands(command);
  return shown
    .map((one) => one.name())
    .filter((name) => name !== "help")
    .join(", ");
}
