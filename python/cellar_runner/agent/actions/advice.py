"""STUCK() and my_role(): what an agent is told when it asks for itself."""

from __future__ import annotations

import collections
from typing import Any

from ...context.texts import Record
from ...pristine import BUILTINS as __builtins__

_WAYS = (
    ("peek", "peek(2000, start=...) reads another part of the context"),
    ("grep", "grep() with a shorter or looser pattern, or another word for it, finds more"),
    ("chunk_context", "llm_batch([question + part for part in chunk_context(8)]) has a model read all of it"),
    ("list_findings", "list_findings() shows what you know already"),
    ("delegate", "delegate(task) hands the question to another agent"),
    ("escalate", "escalate(reason) asks a person"),
)


def stuck(reason: Any, calls: list, omitted: int) -> str:
    """What was not tried in this cell comes first."""
    counts = collections.Counter(call["name"] for call in calls)
    failed = [call for call in calls if call["error"] is not None]
    lines = ["You are stuck{}.".format(": " + str(reason)[:200] if reason else "")]
    if failed:
        lines.append("Last error: {}".format(failed[-1]["error"]))
    repeated = [name for name, count in counts.items() if count + (omitted if name == "grep" else 0) > 5]
    if repeated:
        lines.append("You have called {} many times: try something else.".format(" and ".join(repeated)))
    ways = sorted(_WAYS, key=lambda way: counts[way[0]])
    lines += ["- " + text for _, text in ways[:4]]
    lines.append("If nothing helps, FINAL() with what you know, and say what is missing.")
    return "\n".join(lines)


def role(name: Any, toolbox: Any) -> Record:
    return Record(role=name or "agent", tools=toolbox is not None and toolbox.has_registry)
