"""Functions of the host: arguments, what is told of them, and what they give."""
import asyncio
import inspect
import json
import pickle
import unittest

from cellar_runner.host import bridge, tools


class Host:
    """A service whose host answers by a function of the test."""

    can_wait = True

    def __init__(self, answer=lambda content: content):
        self.host_calls = bridge.HostCalls()
        self.pid = bridge._getpid()
        self.asked = []
        self._answer = answer

    def ask(self, number, name, content):
        self.asked.append((name, json.loads(content)))
        self.host_calls.settle({"id": number, "result": {"output": self._answer(json.loads(content))}})

    def await_answers(self, are_there):
        assert are_there()


def made(*parameters, **options):
    """A tool with these parameters, those with a question mark optional, and its host."""
    host = Host(options.get("answer", lambda content: content))
    listed = [{"name": name.rstrip("?"), "required": name[-1] != "?"} for name in parameters]
    spec = {"name": "tool", "doc": "What it does.", "parameters": listed}
    spec["open"] = options.get("open", False)
    return tools.functions(host, [spec])["tool"], host


class ArgumentsTest(unittest.TestCase):
    def test_positions_stand_for_the_names_in_their_order(self):
        tool, host = made("a", "b?", "c?")
        tool(1, c=3)
        tool(1, 2, 3)
        tool(c=3, a=1)
        self.assertEqual(
            host.asked,
            [("tool", {"a": 1, "c": 3}), ("tool", {"a": 1, "b": 2, "c": 3}), ("tool", {"c": 3, "a": 1})],
        )

    def test_none_for_an_optional_argument_is_as_if_it_was_not_given(self):
        tool, host = made("a", "b?")
        tool(None, None)
        self.assertEqual(host.asked, [("tool", {"a": None})])

    def test_what_does_not_fit_is_not_asked(self):
        tool, host = made("a", "b?")
        for call, told in (
            (lambda: tool(1, 2, 3), "takes a, b, but 3 were given"),
            (lambda: tool(1, a=1), "given a twice"),
            (lambda: tool(1, z=1), "takes a, b, and no z"),
            (lambda: made()[0](z=1), "takes nothing, and no z"),
            (lambda: made(open=True)[0](1), "arguments by name, but 1 were"),
        ):
            with self.assertRaisesRegex(TypeError, told):
                call()
        with self.assertRaisesRegex(ValueError, "cannot be passed on"):
            tool(object())
        self.assertEqual(host.asked, [])

    def test_an_open_one_takes_every_name(self):
        tool, host = made("a", open=True)
        tool(1, **{"max-results": 2, "$": 3})
        self.assertEqual(host.asked[0][1]["$"], "dict")
        tool(1, **{"max-results": 2})
        self.assertEqual(host.asked[1], ("tool", {"a": 1, "max-results": 2}))


class SignatureTest(unittest.TestCase):
    def test_shows_what_python_can_write(self):
        for parameters, shown in (
            (("a", "b?"), "(a, b=None)"),
            (("a?", "b", "c?"), "(a=None, *, b, c=None)"),
            (("max-results", "a"), "(a)"),
            ((), "()"),
        ):
            self.assertEqual(str(inspect.signature(made(*parameters)[0])), shown)
        self.assertEqual(str(inspect.signature(made("a", open=True)[0])), "(a, **fields)")
        made("fields", open=True)[0](1)

    def test_tells_what_the_host_says(self):
        tool, _ = made("a")
        self.assertEqual((tool.__name__, tool.__doc__), ("tool", "What it does."))


class ResultsTest(unittest.TestCase):
    def test_are_plain_where_it_counts(self):
        for value in ("x", [1, [2]], {"a": {"b": 1}}):
            found = made(answer=lambda _content, value=value: value)[0]()
            self.assertEqual(found, value)
            self.assertIs(type(pickle.loads(pickle.dumps(found))), type(value))
            self.assertEqual(json.dumps(found), json.dumps(value))
        for value in (1, 2.5, True, None):
            self.assertIs(type(made(answer=lambda _content, value=value: value)[0]()), type(value))

    def test_may_be_awaited_side_by_side(self):
        async def work():
            tools = [made(answer=lambda _content, value=value: value)[0] for value in ("x", [1], {"a": 1})]
            return await asyncio.gather(*[tool() for tool in tools])

        self.assertEqual(asyncio.run(work()), ["x", [1], {"a": 1}])


if __name__ == "__main__":
    unittest.main()
