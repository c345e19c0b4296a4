import { archiveTokens } from "./rows/archive-tokens.mjs";
import { batchedQueries } from "./rows/batched-queries.mjs";
import { burst } from "./rows/burst.mjs";
import { dependentTools, parallelTools } from "./rows/chained-tools.mjs";
import { checkpointCost } from "./rows/checkpoint-cost.mjs";
import { checkpointedCell } from "./rows/checkpointed-cell.mjs";
import { codemodeTokens } from "./rows/codemode-tokens.mjs";
import { coldStart } from "./rows/cold-start.mjs";
import { context } from "./rows/context.mjs";
import { daemonExec } from "./rows/daemon-exec.mjs";
import { defaultCell, defaultCellTail, spacedCell } from "./rows/default-cell.mjs";
import { exec } from "./rows/exec.mjs";
import { explore } from "./rows/explore.mjs";
import { checkpointCpu, undoVsFork } from "./rows/fork-cost.mjs";
import { forkNotebook } from "./rows/fork-notebook.mjs";
import { grep } from "./rows/grep.mjs";
import { importPackage } from "./rows/import.mjs";
import { liveCell } from "./rows/live-cell.mjs";
import { loadedCell } from "./rows/loaded-cell.mjs";
import { mcpCell } from "./rows/mcp.mjs";
import { isolatedSession, newSession } from "./rows/new-session.mjs";
import { notebookCell } from "./rows/notebook-cell.mjs";
import { notebookRunAll } from "./rows/notebook-run-all.mjs";
import { pyodideLoop } from "./rows/pyodide-loop.mjs";
import { pyodideStart } from "./rows/pyodide-start.mjs";
import { restore } from "./rows/restore.mjs";
import { rlmBudget } from "./rows/rlm-budget.mjs";
import { rlmFanout } from "./rows/rlm-fanout.mjs";
import { rlmTokens } from "./rows/rlm-tokens.mjs";
import { rlmTurn } from "./rows/rlm-turn.mjs";
import { rollback } from "./rows/rollback.mjs";
import { sessionCycle } from "./rows/session-cycle.mjs";
import { sessionMemory } from "./rows/session-memory.mjs";
import { snapshotBlock } from "./rows/snapshot-block.mjs";
import { throughput } from "./rows/throughput.mjs";
import { toolCall, toolCallTime } from "./rows/tool-call.mjs";
import { toonSaving } from "./rows/toon-saving.mjs";
import { turn } from "./rows/turn.mjs";
import { webFetchPage, webFetchText } from "./rows/web-fetch.mjs";

/** In run order: rows that need an idle machine come first. Those with a target, or that say so, have a ratio. */
export const BENCHMARKS = [
  newSession,
  isolatedSession,
  sessionCycle,
  defaultCell,
  spacedCell,
  defaultCellTail,
  liveCell,
  checkpointedCell,
  checkpointCpu,
  undoVsFork,
  throughput,
  loadedCell,
  checkpointCost,
  rollback,
  turn,
  toolCall,
  toolCallTime,
  parallelTools,
  dependentTools,
  webFetchText,
  webFetchPage,
  rlmTurn,
  notebookCell,
  notebookRunAll,
  mcpCell,
  forkNotebook,
  snapshotBlock,
  restore,
  burst,
  sessionMemory,
  batchedQueries,
  rlmFanout,
  rlmBudget,
  daemonExec,
  importPackage,
  exec,
  toonSaving,
  explore,
  archiveTokens,
  codemodeTokens,
  rlmTokens,
  grep,
  context,
  pyodideStart,
  pyodideLoop,
  coldStart,
];
