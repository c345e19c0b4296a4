"""The built-ins that the host answers: `llm_query`, `rlm_query` and their batches."""

from __future__ import annotations

import _compat_pickle
import itertools
import json
import os
import sys
import types
from typing import Any, Callable

from ..errors import MODULE, HostError
from ..module_finder import import_own
from ..pristine import BUILTINS as __builtins__
from ..values import encoding

# More than this many questions of one batch are not under way at once; the host sets its own limit.
WINDOW = 256
MEBIBYTE = 1 << 20
UNAWAITED = (
    "{0} cannot wait here, for this sandbox has one thread: a call at the top of a cell or in an "
    "`async def` waits by itself, one in a plain function, lambda, class body or generator does not. "
    "Make the function `async def`, write `await {0}(...)` in it, and await the function where you call "
    "it; of a generator make a list comprehension"
)

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_getpid = os.getpid
_modules = sys.modules


class Answer(str):
    """A string that may be awaited, for code that was written for either way."""

    __slots__ = ()
    __module__ = MODULE

    def __await__(self):
        return str.__str__(self)
        yield

    def __reduce__(self):
        return str, (str.__str__(self),)


class Awaitable:
    """Mixed into a list or a dict: it may be awaited, and is pickled as a plain one."""

    __slots__ = ()

    def __await__(self):
        return self
        yield

    def __reduce__(self):
        plain: type = type(self).__base__  # type: ignore[assignment]
        return plain, (plain(self),)


class Answers(Awaitable, list):
    """A list that may be awaited."""

    __slots__ = ()
    __module__ = MODULE
    # asyncio.gather keeps what it waits for as the keys of a dict.
    __hash__ = object.__hash__  # type: ignore[assignment]


class HostCalls:
    """The calls that the host has not answered yet, by number."""

    def __init__(self):
        self._numbers = itertools.count(1)
        self._answers = {}
        self._watchers = {}

    def open(self, watcher: Callable[[], object] | None = None) -> int:
        number = next(self._numbers)
        self._answers[number] = None
        if watcher is not None:
            self._watchers[number] = watcher
        return number

    def settle(self, message: dict) -> None:
        """Keeps an answer; one that nobody waits for any more is dropped."""
        number = message.get("id")
        if number in self._answers:
            self._answers[number] = message
            watcher = self._watchers.pop(number, None)
            if watcher is not None:
                watcher()

    def is_settled(self, number: int) -> bool:
        return self._answers[number] is not None

    def close(self, number: int) -> Any:
        """The value of the answer, or a HostError."""
        self._watchers.pop(number, None)
        message = self._answers.pop(number)
        if message is None:
            return HostError("the call ended before the host answered")
        if "result" in message:
            return encoding.decode(message["result"]["output"])
        error = HostError(message["error"]["message"])
        error.hint = (message["error"].get("data") or {}).get("remedy")
        return error


class Bridge:
    """Calls the host on behalf of user code, from whichever thread that runs in."""

    def __init__(self, service):
        self._service = service
        self._host_calls = service.host_calls

    def ask(self, name: str, inputs: list, window: int = WINDOW) -> Any:
        """The outcomes in the order of the inputs; where the service cannot wait, to be awaited."""
        service = self._service
        if _getpid() != service.pid:
            raise HostError(name + " works only in the session's own process, not in a copy of it")
        if not service.can_wait:
            return self._ask_later(name, inputs)
        outcomes, position = [None] * len(inputs), 0
        under_way: dict[int, int] = {}
        host_calls = self._host_calls

        def any_settled():
            return any(map(host_calls.is_settled, list(under_way)))

        try:
            while position < len(inputs) or under_way:
                while position < len(inputs) and len(under_way) < window:
                    number = host_calls.open()
                    under_way[number] = position
                    self._send(number, name, inputs[position])
                    position += 1
                service.await_answers(any_settled)
                for number in [one for one in under_way if host_calls.is_settled(one)]:
                    outcomes[under_way.pop(number)] = host_calls.close(number)
        finally:
            for number in under_way:
                host_calls.close(number)
        return outcomes

    async def _ask_later(self, name, inputs):
        asyncio = import_own("asyncio")
        loop, places = asyncio.get_running_loop(), asyncio.Semaphore(WINDOW)

        async def one(content):
            async with places:
                answered = loop.create_future()
                number = self._host_calls.open(lambda: answered.done() or answered.set_result(None))  # type: ignore[func-returns-value]
                try:
                    self._send(number, name, content)
                    await answered
                finally:
                    outcome = self._host_calls.close(number)
                return outcome

        return list(await asyncio.gather(*map(one, inputs)))

    def _send(self, number, name, content):
        try:
            self._service.ask(number, name, _encode(content))
        except ValueError as error:
            raise HostError("the arguments of {} are too large for one message: {}".format(name, error)) from None

    def given(self, context: object) -> dict:
        """The part of a question that names its context: by when the host gave it, or in full."""
        if context is None:
            step = self._service.given_step()
            if step is not None:
                return {"given": step}
            context = self._service.current_context()
            if context is None:
                return {}
        return {"context": encoded("the context", context)}


def encoded(what: str, value: object) -> Any:
    """A value as the host gets it, whole or not at all."""
    encoder = encoding.Encoder(encoding.CHARACTER_LIMIT)
    form = encoder.encode(value, 0)
    if encoder.loss is not None:
        raise ValueError("{} cannot be passed on: {}".format(what, encoder.loss))
    return form


def functions(service: Any) -> dict[str, Any]:
    bridge = Bridge(service)

    def llm_query(prompt, model=None):
        """Ask a language model and get its answer as a string.

        prompt: what to ask, with everything the model needs to know; it sees nothing else.
        model: the name of a model, where the host offers several.

        Raises HostError when the host cannot answer. May also be awaited.
        For many prompts, llm_query_batched asks them side by side.

        >>> llm_query("Summarise in one line: " + context[:2000])
        """
        return single(bridge, "llm_query", [_question("prompt", prompt, model)])

    def llm_query_batched(prompts, model=None, return_exceptions=False):
        """Ask a language model many things at once; the answers come in the order of the prompts.

        prompts: a list of strings.
        model: the name of a model for all of them.
        return_exceptions: True gives a HostError in the place of an answer that failed. Otherwise
            the first failure is raised when all are through; its `answers` holds the others.

        >>> llm_query_batched(["Summarise: " + part for part in chunk_text(context, 20_000)])
        """
        prompts = _listed("llm_query_batched", prompts)
        inputs = [_question("prompt", prompt, model) for prompt in prompts]
        return _several(bridge, "llm_query", inputs, return_exceptions)

    def rlm_query(task, ctx=None, model=None):
        """Hand a task to a helper with a REPL of its own; gives its answer as a string.

        task: what to find out or to do.
        ctx: what the helper gets as its `context`; by default the present `context`.
        model: the name of a model for the helper, where the host offers several.

        Raises HostError when the host cannot answer. May also be awaited.

        >>> rlm_query("Which chapter mentions the storm?", context[:500_000])
        """
        return single(bridge, "rlm_query", [dict(_question("task", task, model), **bridge.given(ctx))])

    def rlm_query_batched(tasks, ctxs=None, return_exceptions=False, model=None):
        """Hand many tasks to helpers at once; the answers come in the order of the tasks.

        tasks: a list of strings.
        ctxs: a list with one context for each task; by default all get the present `context`.
        return_exceptions: as in llm_query_batched.
        model: the name of a model for all of them.

        >>> rlm_query_batched(["Find all dates"] * len(parts), parts)
        """
        tasks = [_question("task", task, model) for task in _listed("rlm_query_batched", tasks)]
        if ctxs is None:
            given = [bridge.given(None)] * len(tasks)
        else:
            contexts = _listed("rlm_query_batched", ctxs, "contexts")
            given = [bridge.given(context) for context in contexts]
            if len(given) != len(tasks):
                text = "{} tasks but {} contexts: give one context for each task"
                raise ValueError(text.format(len(tasks), len(given)))
        inputs = [dict(task, **context) for task, context in zip(tasks, given)]
        return _several(bridge, "rlm_query", inputs, return_exceptions)

    made = {}
    for function in (llm_query, llm_query_batched, rlm_query, rlm_query_batched):
        function.__module__, function.__qualname__ = MODULE, function.__name__
        made[function.__name__] = function
    made["HostError"] = HostError
    return made


def publish(names: dict) -> None:
    """Lets what names this module as its own be found there, for pickle and for `import`."""
    module = _modules.get(MODULE)
    if type(module) is not types.ModuleType or module.__spec__ is not None:
        module = _modules[MODULE] = types.ModuleType(MODULE, "What a session adds to Python.")
    own = {name: value for name, value in names.items() if getattr(value, "__module__", None) == MODULE}
    vars(module).update(own, Answer=Answer, Answers=Answers)
    # Pickle holds that every exception among the built-ins has a name in Python 2 too.
    modern, ancient = ("builtins", "HostError"), ("exceptions", "HostError")
    _compat_pickle.REVERSE_NAME_MAPPING[modern] = ancient
    _compat_pickle.NAME_MAPPING[ancient] = modern


def _question(kind, text, model):
    """What is asked: `kind` is prompt or task."""
    for what, value in (("a " + kind, text), ("model", "" if model is None else model)):
        if not isinstance(value, str):
            raise TypeError("{} must be a str, not {}".format(what, type(value).__name__))
    return {kind: text, "model": model}


def _listed(name, items, what="strings"):
    """The items; one text, or what holds none, was meant for something else."""
    if isinstance(items, (str, bytes)) or not hasattr(items, "__iter__"):
        text = "{} takes a list of {}, not {}"
        raise TypeError(text.format(name, what, type(items).__name__))
    return list(items)


def single(bridge: Bridge, name: str, inputs: list, shape: Callable = Answer) -> Any:
    """The one answer, or a HostError, or what is to be awaited."""

    def finish(outcomes):
        [outcome] = outcomes
        if isinstance(outcome, HostError):
            raise outcome
        return shape(outcome)

    return _finished(bridge, name, inputs, finish)


def _several(bridge, name, inputs, return_exceptions):
    def finish(outcomes):
        failed = [at for at, outcome in enumerate(outcomes) if isinstance(outcome, HostError)]
        answers = Answers(outcome if isinstance(outcome, HostError) else Answer(outcome) for outcome in outcomes)
        if not failed or return_exceptions:
            return answers
        text = "{} of {} questions failed; number {}: {}"
        error = HostError(text.format(len(failed), len(outcomes), failed[0], outcomes[failed[0]]))
        error.answers = answers  # type: ignore[attr-defined]
        raise error

    return _finished(bridge, name, inputs, finish)


def _finished(bridge, name, inputs, finish):
    """What `finish` makes of the outcomes, now or, where nothing can wait, when they are awaited."""
    outcomes = bridge.ask(name, inputs) if inputs else []
    if isinstance(outcomes, list):
        return finish(outcomes)
    if import_own("asyncio")._get_running_loop() is None:
        outcomes.close()
        raise HostError(UNAWAITED.format(name))
    return Pending(name, outcomes, finish)


class Pending:
    """An answer where nothing can wait for it but `await`."""

    __module__ = MODULE

    def __init__(self, name, coroutine, finish):
        self.__name, self.__coroutine, self.__finish = name, coroutine, finish

    def __await__(self):
        outcomes = yield from self.__coroutine.__await__()
        return self.__finish(outcomes)

    def __unawaited(self, *_arguments):
        raise HostError(UNAWAITED.format(self.__name))

    __str__ = __repr__ = __len__ = __iter__ = __bool__ = __unawaited
    __add__ = __radd__ = __contains__ = __getitem__ = __format__ = __unawaited
    __eq__ = __lt__ = __gt__ = __unawaited
    __hash__ = object.__hash__

    def __getattr__(self, _name):
        self.__unawaited()

    def __del__(self):
        self.__coroutine.close()
