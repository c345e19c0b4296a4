"""The functions of an agent.

Generated from src/protocol/agent/functions.ts by "npm run protocol"; not to be edited.
"""

NAMES = (
    "peek",
    "grep",
    "list_dir",
    "file_info",
    "context_len",
    "chunk_context",
    "mark_finding",
    "list_findings",
    "llm_call",
    "llm_batch",
    "run_shell",
    "run_python_code",
    "benchmark_run",
    "file_write_safe",
    "log_append",
    "delegate",
    "escalate",
    "STUCK",
    "my_role",
    "route_advice",
    "SHOW_VARS",
    "FINAL",
    "FINAL_VAR",
    "SUBMIT",
)
# With what the ids of their calls begin.
PREFIXES = {
    "peek": "P",
    "grep": "G",
    "list_dir": "D",
    "file_info": "F",
    "context_len": "X",
    "chunk_context": "X",
    "llm_call": "L",
    "llm_batch": "B",
    "run_shell": "S",
    "run_python_code": "X",
    "benchmark_run": "X",
    "file_write_safe": "X",
    "log_append": "X",
    "delegate": "L",
    "escalate": "X",
    "TOOL": "T",
    "CALL": "C",
    "web_fetch": "W",
    "recall": "R",
    "code_search": "CS",
    "doc_search": "DS",
}
# What counts as having looked at the context.
EXPLORING = (
    "peek",
    "grep",
    "list_dir",
    "file_info",
    "chunk_context",
    "llm_call",
    "llm_batch",
    "delegate",
)
