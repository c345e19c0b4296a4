import { cellList, type NotebookState } from "../../notebook/state.js";
import { cut } from "./cell-view.js";

const LONGEST_NOTE = 1_000;
const MOST_NOTES = 50;

export function stateNotes({ lost, ranAfter, warnings }: NotebookState): string[] {
  const missing =
    ranAfter.length === 0
      ? []
      : [
          `${cellList(ranAfter)} ran, but their effects are not in the variables: rerun_cell runs them again`,
        ];
  const names = lost.map(({ name, reason, advice }) => `${name} was lost: ${reason}; ${advice}`);
  return [...missing, ...names, ...warnings]
    .slice(0, MOST_NOTES)
    .map((note) => cut(note, LONGEST_NOTE));
}
