"""Plain calls of what the host answers, rewritten to `await` wherever one may stand."""
import _ast
import asyncio
import traceback
import unittest

from cellar_runner.cells import compiler
from cellar_runner.errors import HostError
from cellar_runner.host.bridge import Pending
from cellar_runner.pyodide import awaiting

FLAGS = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


async def answer(prompt):
    await asyncio.sleep(0)
    if prompt == "bad":
        raise HostError("asleep")
    return prompt.upper()


class AwaitingTest(unittest.TestCase):
    def setUp(self):
        self.asked, self.most, self.open = [], 0, 0

    def llm_query(self, prompt, model=None):
        self.asked.append(prompt)

        async def later():
            self.open += 1
            self.most = max(self.most, self.open)
            try:
                return await answer(prompt)
            finally:
                self.open -= 1

        return Pending("llm_query", later(), lambda arrived: arrived)

    def run_cell(self, text):
        """The names that a cell leaves behind."""
        names = {"llm_query": self.llm_query, awaiting.HELPER: awaiting.settled, "asyncio": asyncio}
        tree = compiler.parse(text, "<cell 1>")
        tree = awaiting.AwaitingAdmission(None, awaiting.ANSWERED).admit(tree, text)
        code = compile(tree, "<cell 1>", "exec", FLAGS)

        async def work():
            value = eval(code, names)
            if code.co_flags & compiler.COROUTINE:
                await value

        asyncio.run(work())
        return names

    def value(self, text):
        return self.run_cell(text)["x"]

    def test_calls_at_the_top_wait(self):
        for text, expected in [
            ("x = llm_query('a')", "A"),
            ("x = llm_query(llm_query('a') + 'b')", "AB"),
            ("x = f\"<{llm_query('a')}>\"", "<A>"),
            ("x = [llm_query(p) for p in 'ab' if llm_query(p) != 'A']", ["B"]),
            ("x = {p: llm_query(p) for p in llm_query('ab')}", {"A": "A", "B": "B"}),
            ("x = ''.join(c * 2 for c in llm_query('ab'))", "AABB"),
            ("x = ''\nfor p in 'ab':\n  if llm_query(p) == 'B': x += llm_query('c')", "C"),
            ("x = 0\nwhile llm_query(str(x)) != '3': x += 1", 3),
            ("try: llm_query('bad')\nexcept Exception as e: x = str(e) + llm_query('!')", "asleep!"),
            ("x = (lambda p=llm_query('a'): p)()", "A"),
            ("def f(p=llm_query('a')): return p\nx = f()", "A"),
            ("class C:\n  def f(self, p): return p\nx = C().f(llm_query('a'))", "A"),
            ("async def f(p): return llm_query(p) + '.'\nx = await f('a')", "A."),
            ("def make():\n  async def f(): return llm_query('a')\n  return f\nx = await make()()", "A"),
            ("x: 'llm_query(1)' = llm_query('a')", "A"),
            ("x = (y := llm_query('a')) and y.lower()", "a"),
            ("x = 'yes' if llm_query('a') else 'no'", "yes"),
            ("x = await llm_query('a')", "A"),
            ("x = await llm_query(llm_query('a'))", "A"),
        ]:
            with self.subTest(text=text):
                self.assertEqual(self.value(text), expected)

    def test_what_the_cell_defines_itself_is_called_as_it_is(self):
        own = "def llm_query(p): return [p]\n"
        self.assertEqual(self.value(own + "x = llm_query('a')"), ["a"])
        own = "async def llm_query(p): return [p]\n"
        self.assertEqual(self.value(own + "x = await llm_query('a')"), ["a"])
        self.assertEqual(self.value(own + "y = llm_query('a')\nx = await y"), ["a"])

    def test_what_is_gathered_is_asked_side_by_side(self):
        text = "x = await asyncio.gather(*[llm_query(p) for p in 'abc'], llm_query('d'))"
        self.assertEqual(self.value(text), ["A", "B", "C", "D"])
        self.assertEqual(self.most, 4)

    def test_where_no_await_may_stand_the_error_says_how(self):
        for text in [
            "def f(p): return llm_query(p)\nx = f('a') + '.'",
            "x = list(map(lambda p: llm_query(p) + '.', 'ab'))",
            "class C:\n  x = llm_query('a') + '.'",
            "x = ''.join(llm_query(p) for p in 'ab')",
        ]:
            with self.subTest(text=text), self.assertRaises((HostError, TypeError)) as raised:
                self.run_cell(text)
            if isinstance(raised.exception, HostError):
                self.assertIn("await llm_query(...)", str(raised.exception))
                self.assertIn("async def", str(raised.exception))

    def test_tracebacks_name_the_line_of_the_call(self):
        frames = []
        try:
            self.run_cell("a = 1\nb = [\n  2,\n  llm_query('bad'),\n]")
        except HostError as error:
            frames = traceback.extract_tb(error.__traceback__)
        self.assertIn(4, [frame.lineno for frame in frames if frame.filename == "<cell 1>"])

    def test_other_cells_are_left_alone(self):
        text = "x = [n for n in range(3)]\ndef f(): return x"
        tree = compiler.parse(text, "<cell 1>")
        awaiting.AwaitingAdmission(None, awaiting.ANSWERED).admit(tree, text)
        self.assertFalse(compile(tree, "<cell 1>", "exec", FLAGS).co_flags & compiler.COROUTINE)


if __name__ == "__main__":
    unittest.main()
