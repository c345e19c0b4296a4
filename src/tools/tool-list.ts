import { deleteCell, executeCell, rerunCell, showCell } from "./cells.js";
import { listFiles, readFile, writeFile } from "./files.js";
import { forkNotebook, undo } from "./history.js";
import { markPrivate } from "./mark-private.js";
import {
  clearNotebook,
  createNotebook,
  deleteNotebook,
  exportIpynb,
  listNotebooks,
  showNotebook,
} from "./notebooks.js";
import type { Tool } from "./tool.js";

/** All that a model can do with notebooks, the most used first. */
export const TOOLS: readonly Tool[] = [
  executeCell,
  rerunCell,
  showCell,
  showNotebook,
  deleteCell,
  clearNotebook,
  createNotebook,
  listNotebooks,
  deleteNotebook,
  exportIpynb,
  undo,
  forkNotebook,
  listFiles,
  readFile,
  writeFile,
  markPrivate,
];
