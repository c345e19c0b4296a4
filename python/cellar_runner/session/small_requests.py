"""Requests beside the cells: completion, and what an agent's functions remember."""

from __future__ import annotations

from ..context import spilled
from ..policy.admission import sanitise
from ..pristine import BUILTINS as __builtins__
from ..values import encoding

AGENT_STATE_CHARACTERS = 8_000_000


def _complete(service, params):
    # Loaded when it is first asked for, as most sessions never do.
    from ..cells.completion.candidates import complete

    return complete(params["code"], params["cursor"], service.interpreter)


def _is_complete(service, params):
    from ..cells import completeness

    interpreter = service.interpreter
    return completeness.check(params["code"], interpreter.flags, interpreter.commands.is_magic)


def _get_agent_state(service, _params):
    return {"state": encoding.encode(_agent_of(service).state(), AGENT_STATE_CHARACTERS)}


def _set_agent_state(service, params):
    _agent_of(service).restore(encoding.decode(params["state"]))
    return {"checkpoint": service.checkpoints.plan(params)}


def _replay_chain(service, params):
    chained = _agent_of(service).chained
    if chained is None:
        raise ValueError("the turns of this session are not structured, so there is no chain to replay")
    code, admission = params["code"], service.interpreter.admission
    if admission is not None and admission.sanitises:
        code = sanitise(code)[0]
    return {"divergence": chained.replayed(code, params["log"])}


def _agent_of(service):
    if service.agent is None:
        raise ValueError("the session has no agent functions; configure them first")
    return service.agent


def _put_spilled(_service, params):
    for file in params["files"]:
        spilled.keep(file["name"], file["text"])
    return {"folder": spilled.folder()}


SERVED = {
    "complete": _complete,
    "is_complete": _is_complete,
    "get_agent_state": _get_agent_state,
    "set_agent_state": _set_agent_state,
    "replay_chain": _replay_chain,
    "put_spilled": _put_spilled,
}
