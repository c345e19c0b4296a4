import type { Settings } from "../../config.js";
import type { Limits } from "../../protocol/messages.js";

export function wireLimits(limits: Settings["limits"]): Limits {
  return {
    memory_mb: limits.memoryMb,
    processes: limits.processes,
    workspace_mb: limits.workspaceMb,
    tmp_mb: limits.tmpMb,
    file_mb: limits.fileMb,
    open_files: limits.openFiles,
    inotify_watches: limits.inotifyWatches,
  };
}
