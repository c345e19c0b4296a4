"""An agent's functions in cells: how FINAL ends them, what is told afterwards, and help()."""
import asyncio
import doctest
import inspect
import json
import unittest

from agent_case import AgentCase, bridge
from cell_case import CellCase

from cellar_runner.agent.agent import AgentTools
from cellar_runner.errors import ExplorationRequired
from cellar_runner.host.bridge import HostError, Pending
from cellar_runner.protocol.agent_functions import NAMES

TEXT = "Call me Ishmael.\nSome years ago - never mind how long."


class AgentCellCase(CellCase):
    """Cells that find the functions of an agent."""

    def setUp(self):
        super().setUp()
        self.add_tools()

    def add_tools(self, **options):
        namespace = self.interpreter.namespace
        options = dict(options, workspace=self.folder.name)
        self.agent = AgentTools(lambda: namespace["context"], options, bridge([]), lambda: namespace)
        self.interpreter.builtins = self.agent.functions()

    def run_cell(self, code):
        self.agent.begin_cell(code)
        return super().run_cell(code)

    def final(self, code):
        """The answer of a cell that must end as one that succeeded."""
        outcome = self.run_cell(code)
        self.assertEqual((outcome["status"], outcome["error"]), ("ok", None), outcome["error"])
        return self.agent.report()["final"]


class FinalTest(AgentCellCase):
    def test_it_ends_the_cell_after_what_came_before(self):
        answer = self.final("x = 1\nprint('so')\nFINAL(x + 1)\nx = 2")
        self.assertEqual((answer["value"], answer["via"], answer["type"]), (2, "FINAL", "int"))
        self.assertEqual((self.value("x"), self.stdout.getvalue()), ("1", "so\n"))

    def test_nothing_that_only_looks_like_it(self):
        self.assertIsNone(self.final("# FINAL('x')\ns = 'FINAL(1)'\n'''FINAL(2)'''\ndef f(): FINAL(3)"))

    def test_it_cannot_be_swallowed(self):
        swallowing = (
            "try:\n    FINAL(1)\nexcept Exception:\n    pass\nprint('on')",
            "import contextlib\nwith contextlib.suppress(Exception): FINAL(1)\nprint('on')",
            "[FINAL(n) for n in (1, 2)]\nprint('on')",
            "list(map(FINAL, [1, 2]))\nprint('on')",
            "def f():\n    def g(): FINAL(1)\n    g()\nf()\nprint('on')",
            "from concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor(1) as pool: pool.submit(FINAL, 1).result()\nprint('on')",
            "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    FINAL(1)\nawait f()\nprint('on')",
            "await asyncio.gather(f(), asyncio.sleep(60))\nprint('on')",
            "asyncio.run(f())\nprint('on')",
        )
        for code in swallowing:
            with self.subTest(code=code):
                self.assertEqual(self.final(code)["value"], 1)
                self.assertEqual((self.stdout.getvalue(), self.stderr.getvalue()), ("", ""))

    def test_it_stands_where_everything_is_swallowed(self):
        for code in (
            "try:\n    FINAL(1)\nexcept BaseException:\n    pass\n'on'",
            "def f():\n    try:\n        FINAL(1)\n    finally:\n        return 'on'\nf()",
            "import threading\nthread = threading.Thread(target=FINAL, args=(1,))\nthread.start()\nthread.join()\n'on'",
            "class C:\n    def __repr__(self): FINAL(1)\nC()",
        ):
            with self.subTest(code=code):
                self.assertEqual(self.final(code)["value"], 1)
                self.assertEqual(self.stderr.getvalue(), "")
        outcome = self.run_cell("try:\n    FINAL(1)\nexcept BaseException:\n    raise ValueError('x')")
        self.assertEqual((outcome["status"], self.agent.report()["final"]["value"]), ("error", 1))

    def test_the_first_one_counts(self):
        self.assertEqual(self.final("try:\n    FINAL(1)\nexcept BaseException:\n    FINAL(2)")["value"], 1)
        [refused] = self.agent.report()["refused"]
        self.assertIn("first one counts", refused["reason"])
        self.assertIsNone(self.final("1"))
        self.assertEqual(self.final("FINAL(3)")["value"], 3)

    def test_other_exits_are_still_errors(self):
        self.error("import sys\nsys.exit(0)", "SystemExit")
        self.error("raise SystemExit('FINAL')", "SystemExit")
        self.assertIsNone(self.agent.report()["final"])

    def test_a_copy_of_the_process_cannot_answer(self):
        code = "try:\n    if pid == 0: FINAL(1)\nexcept RuntimeError:\n    os._exit(7)"
        self.value("import os\npid = os.fork()\n" + code)
        self.assertEqual(self.value("os.WEXITSTATUS(os.waitpid(pid, 0)[1])"), "7")
        self.assertIsNone(self.agent.report()["final"])

    def test_what_is_no_answer(self):
        cases = {
            "FINAL(print)": "not a builtin_function_or_method: call it",
            "FINAL(int)": "not a class",
            "FINAL(lambda: 1)": "not a function",
            "import math; FINAL(math)": "not a module",
            "FINAL(n for n in [1])": "not a generator: wrap it in list(...)",
            "FINAL(map(str, [1]))": "not a map: wrap it in list(...)",
            "async def f(): pass\nc = f()\ntry:\n    FINAL(c)\nfinally:\n    c.close()": "await it first",
        }
        for code, text in cases.items():
            with self.subTest(code=code):
                self.assertIn(text, self.error(code, "TypeError")["message"])
                report = self.agent.report()
                self.assertIsNone(report["final"])
                self.assertIn(text, report["refused"][0]["reason"])

    def test_answers_of_all_kinds(self):
        answer = self.final("FINAL('text')")
        self.assertEqual((answer["value"], answer["text"], answer["loss"]), ("text", None, None))
        answer = self.final("FINAL({'a': [1, 2.5, None]})")
        self.assertEqual(answer["value"], {"a": [1, 2.5, None]})
        self.assertEqual(answer["text"], "{'a': [1, 2.5, None]}")
        answer = self.final("class C:\n    def __repr__(self): return 'a C'\nFINAL(C())")
        self.assertEqual((answer["text"], answer["loss"]), ("a C", "it holds a C"))
        answer = self.final("FINAL('x' * 2_000_000)")
        self.assertIn("too long", answer["loss"])
        answer = self.final("FINAL('\\ud800')")
        self.assertEqual(json.loads(json.dumps(answer)), answer)

    def test_final_var(self):
        self.value("result = [1]\nresults = 2")
        answer = self.final("FINAL_VAR('result')")
        self.assertEqual((answer["value"], answer["via"], answer["name"]), ([1], "FINAL_VAR", "result"))
        message = self.error("FINAL_VAR('reslt')", "NameError")["message"]
        self.assertIn("did you mean result or results?", message)
        self.assertIn("FINAL(result)", self.error("FINAL_VAR([1])", "TypeError")["message"])
        self.assertIn("takes the answer itself", self.error("FINAL_VAR('the answer is 4')", "NameError")["message"])
        self.assertIn("you have result, results", self.error("FINAL_VAR('zzz')", "NameError")["message"])
        self.error("FINAL_VAR('__builtins__')", "NameError")
        self.error("f = print\nFINAL_VAR('f')", "TypeError")

    def test_exploration_first(self):
        self.add_tools(require_exploration_before_final=True, min_exploration_calls=2)
        self.value("context = 'abc'")
        message = self.error("FINAL(1)", "ExplorationRequired")["message"]
        self.assertIn("2 more calls of peek(), grep()", message)
        self.assertIsNone(self.agent.report()["final"])
        self.value("peek()\ncontext_len()\nmark_finding('a')")
        self.error("try:\n    grep('(')\nexcept ValueError:\n    pass\nFINAL(1)", "ExplorationRequired")
        self.assertIn("1 more call of", self.error("FINAL_VAR('context')", "ExplorationRequired")["message"])
        self.assertEqual(self.final("grep('a')\nFINAL(1)")["value"], 1)
        self.assertTrue(issubclass(ExplorationRequired, Exception))

    def test_replaced_builtins_do_no_harm(self):
        path = self.folder.name + "/notes"
        with open(path, "w") as file:
            file.write("one\ntwo\n")
        code = (
            "import builtins, re, os, json\n"
            "kept, functions = dict(vars(builtins)), (os.open, os.read, re.compile, os.pipe)\n"
            "names = 'len open range max min sum list str int isinstance type iter print sorted'.split()\n"
            "context = 'one\\ntwo'\n"
            "for name in names: setattr(builtins, name, None)\n"
            "os.open = os.read = re.compile = os.pipe = None\n"
            "try:\n"
            "    found = [grep('two')[0].line, grep('two', file=path)[0].line, peek(3), peek(3, path)]\n"
            "    found += [context_len(), chunk_context(2, 0)[0], file_info(path).lines]\n"
            "    FINAL(found)\n"
            "finally:\n"
            "    vars(builtins).update(kept)\n"
            "    os.open, os.read, re.compile, os.pipe = functions\n"
        )
        self.interpreter.namespace["path"] = path
        self.assertEqual(self.final(code)["value"], [2, 2, "one", "one", 7, "one\n", 2])


class ReportTest(AgentCase):
    def test_calls(self):
        self.give(TEXT)
        self.peek(4)
        self.grep("years", context_lines=0)
        with self.assertRaises(FileNotFoundError):
            self.file_info("/none/such")
        self.llm_call("who is Ishmael", model="small")
        self.llm_batch(["a b", "c d"])
        calls = self.calls()
        self.assertEqual([call["id"] for call in calls], ["P1", "G1", "F1", "L1", "B1"])
        self.assertEqual(calls[0]["arguments"], {"n": 4, "file": None, "start": 0})
        self.assertEqual((calls[0]["size"], calls[0]["preview"]), (4, "Call"))
        self.assertEqual(calls[1]["size"], len(repr(self.grep("years", context_lines=0))))
        self.assertIn("FileNotFoundError: no such file", calls[2]["error"])
        self.assertEqual((calls[3]["preview"], calls[3]["arguments"]["model"]), ("Ishmael", "small"))
        self.assertEqual((calls[4]["preview"], calls[4]["arguments"]), ("b d", {"prompts": "2 items"}))
        self.assertEqual(json.loads(json.dumps(self.agent.report())), self.agent.report())

    def test_cells_follow_each_other(self):
        self.give(TEXT)
        self.peek()
        self.mark_finding("one", source="line 1")
        self.agent.begin_cell("")
        self.peek()
        self.mark_finding("two")
        report = self.agent.report()
        self.assertEqual([call["id"] for call in report["calls"]], ["P2"])
        self.assertEqual(report["findings"], [{"number": 2, "text": "two", "source": None}])
        self.assertEqual(report["explored"], 2)
        self.assertEqual(repr(self.list_findings()), "1. one [line 1]\n2. two")

    def test_there_are_bounds(self):
        self.give("word " * 10_000)
        for _ in range(203):
            self.peek(10_000)
        report = self.agent.report()
        self.assertEqual((len(report["calls"]), report["omitted"]), (200, 3))
        preview = report["calls"][0]["preview"]
        self.assertLessEqual(len(preview), 200)
        self.assertTrue(preview.endswith("word\u2026"), preview)
        with self.assertRaises(ValueError):
            self.grep("x" * 1_000_000)
        self.agent.begin_cell("")
        with self.assertRaises(ValueError):
            self.grep("x" * 1_000_000)
        self.assertEqual(len(self.calls()[0]["arguments"]["pattern"]), 100)

    def test_findings_are_bounded(self):
        for text in (None, 3, ["a"]):
            with self.refused(TypeError, "must be a str"):
                self.mark_finding(text)
        with self.refused(ValueError, "2,000 characters", "a sentence or two"):
            self.mark_finding("x" * 2001)
        with self.refused(ValueError, "must not be empty"):
            self.mark_finding("  ")
        for number in range(500):
            self.mark_finding(str(number))
        with self.refused(ValueError, "500 findings already"):
            self.mark_finding("x")
        self.list_findings()[0]["text"] = "changed"
        self.assertEqual(self.list_findings()[0].text, "0")

    def test_state_goes_on(self):
        self.give(TEXT)
        self.peek()
        self.mark_finding("one")
        state = json.loads(json.dumps(self.agent.state()))
        self.add_tools()
        self.agent.restore(state)
        self.peek()
        self.grep("Ishmael")
        self.assertEqual([call["id"] for call in self.calls()], ["P2", "G1"])
        self.assertIn("P", self.calls()[1]["parents"][0])
        self.assertEqual(repr(self.list_findings()), "1. one")
        self.assertEqual(self.agent.report()["findings"], [])
        self.assertEqual(self.agent.report()["explored"], 3)
        for data in (None, {}, {"version": 1}, dict(state, counters=[1]), dict(state, findings=[3])):
            with self.assertRaises(ValueError):
                self.agent.restore(data)

    def test_answers_that_have_to_be_awaited(self):
        async def answered():
            return ["late"]

        self.agent._bridge = {
            "llm_query": lambda prompt, model: Pending("llm_query", answered(), lambda found: found[0])
        }

        async def ask():
            pending = self.llm_call("x")
            with self.assertRaises(HostError):
                str(pending)
            self.assertEqual(self.calls(), [])
            return await pending

        self.assertEqual(asyncio.run(ask()), "late")
        self.assertEqual(self.calls()[0]["preview"], "late")

    def test_show_vars(self):
        self.assertEqual(repr(self.SHOW_VARS()), "no variables yet")
        self.variables.update(text="x" * 200, n=3, _hidden=1)
        shown = repr(self.SHOW_VARS()).split("\n")
        self.assertEqual((len(shown), shown[1]), (2, "n: int = 3"))
        self.assertTrue(shown[0].startswith("text: str[200] = 'xxx"))
        self.assertEqual(self.SHOW_VARS()[1].name, "n")


class PresentationTest(AgentCellCase):
    def test_names_and_signatures(self):
        functions = self.agent.functions()
        self.assertEqual(tuple(functions), NAMES)
        self.add_tools()
        signatures = {
            "peek": "(n=500, file=None, *, start=0)",
            "grep": "(pattern, file=None, context_lines=2, *, ignore_case=True)",
            "chunk_context": "(n=4, overlap=200)",
            "mark_finding": "(text, source=None)",
            "llm_call": "(prompt, model=None)",
        }
        for name, signature in signatures.items():
            self.assertEqual(str(inspect.signature(functions[name])), signature)
        usual = AgentTools(None, {}, {}, None).functions()["list_dir"]
        self.assertEqual(str(inspect.signature(usual)), "(path='/workspace')")

    def test_help_shows_what_is_documented(self):
        for name, function in self.agent.functions().items():
            with self.subTest(name=name):
                shown = self.printed("help({})".format(name))
                self.assertIn("function {}:\n\n{}{}\n".format(name, name, inspect.signature(function)), shown)
                for line in inspect.getdoc(function).splitlines():
                    self.assertIn(line.rstrip(), shown)
                self.assertNotIn("<locals>", self.value(name))

    def test_the_examples_are_true(self):
        self.interpreter.namespace["context"] = TEXT
        functions = self.agent.functions()
        runner, parser = doctest.DocTestRunner(verbose=False), doctest.DocTestParser()
        for name in ("peek", "grep", "context_len", "chunk_context", "mark_finding"):
            with self.subTest(name=name):
                example = parser.get_doctest(functions[name].__doc__, dict(functions), name, None, None)
                self.assertTrue(example.examples)
                output = []
                runner.run(example, out=output.append)
                self.assertEqual("".join(output), "")

    def test_errors_show_the_cell_alone(self):
        error = self.error("context = 'a'\ngrep('(')", "PatternError")
        self.assertIn("grep('(')", error["traceback"])
        self.assertNotIn("searching.py", error["traceback"])


if __name__ == "__main__":
    unittest.main()
