import type { Command } from "commander";
import { userFolders } from "../../config/environment.js";

export interface PlaceOptions {
  readonly user?: string;
  readonly dir?: string;
}

export interface JsonPlaceOptions extends PlaceOptions {
  readonly json?: true;
}

const USER = "me";

export function addPlaceOptions(
  command: Command,
  whose = `whose notebook it is (default: ${USER})`,
): Command {
  return command
    .option("--user <name>", whose)
    .option(
      "--dir <folder>",
      "where notebooks are kept (default: ~/.local/state/cellar, or CELLAR_HOME)",
    );
}

export function placeOf(options: PlaceOptions): { readonly user: string; readonly dir: string } {
  return { user: options.user ?? USER, dir: dirOf(options) };
}

export function dirOf({ dir }: PlaceOptions): string {
  return dir ?? userFolders().notebooks;
}
