"""The request for completions; what answers it is loaded when somebody asks."""

from ...pristine import BUILTINS as __builtins__


def answer(service, params):
    from .candidates import complete

    return complete(params["code"], params["cursor"], service._interpreter)
