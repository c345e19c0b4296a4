import type { IsolationLevel, Settings } from "../config.js";
import { enforcesPrivacy } from "../egress/privacy-enforcement.js";
import type { NotebookService } from "./service/notebook-service.js";

export type ServiceFacts = Pick<NotebookService, "isolation" | "outputCap" | "settings">;

/** Teaches a model in a few lines to use the notebooks well. */
export function instructionsFor({ isolation, outputCap, settings }: ServiceFacts): string {
  const { level, claim } = isolation;
  const { timeout, limits } = settings;
  return [
    `You have Python notebooks. Isolation in force: ${level}. ${claim} ${reachOf(level, settings.network)}`,
    "",
    "- Run Python with execute_cell. Variables, imports and files are kept in a notebook, even after a restart. Calls without a session share one notebook, which each answer names; pass a session to work in another one, or to continue an older one.",
    "- Work in small steps and build on earlier cells. Do not rerun what worked; after an error fix only the cell that failed.",
    `- Look before you print everything: lengths, types, first rows, a filter. An answer shows about ${outputCap} characters of an output; the whole is kept, and the answer says where.`,
    "- Keep large data in variables and files, not in the conversation. Code runs in /workspace: write_file puts files there, read_file and list_files look at them.",
    "- End a cell with an expression to see its value. Tables and plots come back as such.",
    "- undo reverts what runs did to the variables. fork_notebook makes a copy to try something in. Files are not undone.",
    enforcesPrivacy(level)
      ? "- Before you load data that must not leave, call mark_private: it cuts the network for good."
      : "- If there is data that must not leave, call mark_private, and send nothing of it anywhere yourself: nothing isolates it here.",
    `- A cell may take ${timeout / 1000} s, ${limits.memoryMb} MB of memory and ${limits.workspaceMb} MB of files. A stopped cell reports what happened to the variables.`,
  ].join("\n");
}

function reachOf(level: IsolationLevel, network: Settings["network"]): string {
  if (!enforcesPrivacy(level))
    return "Code is not isolated: it can use the network and the files of this machine.";
  if (network === "none") return "Code cannot reach any network.";
  if (network === "host") return "Code reaches the network of the host.";
  return `Code reaches only: ${network.allow.join(", ")}.`;
}
