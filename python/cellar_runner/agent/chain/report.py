"""What is told about a chain beside its results."""

from __future__ import annotations

from ...pristine import BUILTINS as __builtins__
from .plan import Plan, Sequential, Wave
from .steps import CALL

LONGEST_NAME = 200


def report(plan: Plan, timeline: list[dict]) -> dict:
    """The diagnostics of a chain that was run by its plan; the timeline has the waves that were reached."""
    steps = [step for step in plan.steps if step.kind == CALL]
    waves = sum(bool(wave.tools) for wave in plan.waves)
    return dict(_about(plan), fallback_to_seq=False, reason=None, waves=waves, steps=len(steps), wave_timeline=timeline)


def sequential_report(sequential: Sequential) -> dict | None:
    """The same of a turn that was run as any other cell; None if it was no chain."""
    if sequential.chain_id is None:
        return None
    return dict(
        _about(sequential),
        fallback_to_seq=sequential.is_fallback,
        reason=sequential.reason,
        waves=0,
        steps=len(sequential.tools),
        wave_timeline=[],
    )


def describe_wave(index: int, wave: Wave, elapsed_ms: float) -> dict:
    """`mode_used`: whether its calls ran side by side, one by one, or some this way and some that."""
    is_parallel = len(wave.together) > 1
    mode = ("mixed" if wave.in_turn else "parallel") if is_parallel else "seq"
    tools = [name[:LONGEST_NAME] for name in wave.tools]
    return {"wave_index": index, "tools": tools, "mode_used": mode, "elapsed_ms": round(elapsed_ms, 3)}


def _about(plan: Plan | Sequential) -> dict:
    return {
        "chain_id": plan.chain_id,
        "mode_requested": plan.options.mode,
        "mode_used": plan.mode_used,
        "parallel_mutations_enabled": plan.options.parallel_mutations,
    }
