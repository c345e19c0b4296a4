import type { Argument, Command, Option } from "commander";

export interface WordCompletion {
  readonly words: readonly { readonly word: string; readonly about?: string }[];
  readonly files: boolean;
}

/** Names of notebooks; `--user` and `--dir` may be on the line. */
export type NotebookNames = (place: {
  readonly user?: string;
  readonly dir?: string;
}) => Promise<readonly string[]>;

const NOTHING: WordCompletion = { words: [], files: false };
const FILES: WordCompletion = { words: [], files: true };
/** Placeholders of options and arguments that are paths. */
const ON_DISK = /file|folder|path|source|page|host:/i;

interface Place {
  readonly command: Command;
  readonly pending: Option | undefined;
  readonly positionals: number;
  readonly isBehindDashes: boolean;
  readonly values: Readonly<Record<string, string>>;
}

export async function completeWords(
  program: Command,
  words: readonly string[],
  notebooks: NotebookNames,
): Promise<WordCompletion> {
  const current = words.at(-1) ?? "";
  const place = walk(program, words.slice(0, -1));
  if (place.isBehindDashes) return FILES;
  if (place.pending !== undefined) return fitting(valuesOf(place.pending), current);
  const [, flag = "", value] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
  if (value !== undefined) {
    const option = optionOf(place.command, flag);
    if (option === undefined) return NOTHING;
    const { words: values, files } = fitting(valuesOf(option), value);
    return { words: values.map(({ word }) => ({ word: `${flag}=${word}` })), files };
  }
  if (current.startsWith("-")) return fitting(flagsOf(place.command), current);
  return fitting(await argumentsAt(place, notebooks), current);
}

function walk(program: Command, words: readonly string[]): Place {
  let command = program;
  let pending: Option | undefined;
  let positionals = 0;
  const values: Record<string, string> = {};
  for (const word of words) {
    if (pending !== undefined) {
      values[pending.attributeName()] = word;
      pending = undefined;
    } else if (word === "--") {
      return { command, pending, positionals, isBehindDashes: true, values };
    } else if (word.startsWith("-") && word !== "-") {
      const [flag = "", ...rest] = word.split("=");
      const option = optionOf(command, flag);
      if (option !== undefined && rest.length > 0) values[option.attributeName()] = rest.join("=");
      else if (option?.required === true) pending = option;
    } else {
      const child =
        positionals === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (child === undefined) positionals += 1;
      else command = child;
    }
  }
  return { command, pending, positionals, isBehindDashes: false, values };
}

function optionOf(command: Command, flag: string): Option | undefined {
  return command.options.find(({ long, short }) => flag === long || flag === short);
}

function valuesOf({ argChoices, flags }: Option): WordCompletion {
  if (argChoices !== undefined)
    return { words: argChoices.map((word) => ({ word })), files: false };
  return ON_DISK.test(flags.slice(flags.indexOf("<"))) ? FILES : NOTHING;
}

function flagsOf(command: Command): WordCompletion {
  const help = { word: "--help", about: "show this text" };
  const own = command.options.flatMap(({ long, description, hidden }) =>
    long == null || hidden ? [] : [{ word: long, about: description }],
  );
  return { words: [...own, help], files: false };
}

async function argumentsAt(
  { command, positionals, values }: Place,
  notebooks: NotebookNames,
): Promise<WordCompletion> {
  const shown = command.createHelp().visibleCommands(command);
  const commands = positionals > 0 ? [] : shown.filter((one) => one.name() !== "help");
  const words = commands.map((one) => ({ word: one.name(), about: one.description() }));
  const argument = argumentAt(command.registeredArguments, positionals);
  if (argument === undefined) return { words, files: false };
  if (argument.name() === "session" && !/\bnew\b/.test(argument.description)) {
    const named = await notebooks(values);
    return { words: [...words, ...named.map((word) => ({ word }))], files: false };
  }
  const choices = (argument.argChoices ?? []).map((word) => ({ word }));
  return { words: [...words, ...choices], files: ON_DISK.test(argument.name()) };
}

function argumentAt(all: readonly Argument[], at: number): Argument | undefined {
  const last = all.at(-1);
  return all[at] ?? (last?.variadic === true ? last : undefined);
}

function fitting({ words, files }: WordCompletion, start: string): WordCompletion {
  return { words: words.filter(({ word }) => word.startsWith(start)), files };
}
