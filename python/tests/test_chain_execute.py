"""What a chain leaves behind: variables, outputs, diagnostics, and no threads."""

import _thread
import os
import tempfile
import threading
import time
import traceback
import unittest
from unittest import mock

from chain_case import DEP, ChainCase

from cellar_runner.agent.chain import crew
from cellar_runner.agent.chain.execute import execute
from cellar_runner.agent.chain.plan import Options, Sequential
from cellar_runner.agent.chain.report import sequential_report
from cellar_runner.agent.chain.scope import Scope

PATIENCE = 20


class VariablesTest(ChainCase):
    def test_a_step_that_cannot_be_planned_makes_no_call_happen_twice(self):
        """Bug a: fails if a chain is given up for the plain cell after its first wave."""
        for second in ("b = grep(a + 'x')", "b = grep(a.strip())", "b = grep(missing)"):
            self.setUp()
            code = "a = run_shell('date')\n" + second
            if isinstance(self.plan(code), Sequential):
                self.run_lines(code)
            else:
                self.chain(code)
            self.assertEqual([call for call in self.called if call[0] == "run_shell"], [("run_shell", "date")])

    def test_what_was_written_is_read(self):
        """Bug b: fails if only names make edges: the old text is read."""
        self.chain("file_write_safe('/w/a.txt', 'new')\nb = peek(9, '/w/a.txt')\nc = TOOL('look', path='/w/a.txt')")
        self.assertEqual(self.variables(), {"b": "new", "c": "new"})

    def test_what_was_written_is_read_through_a_link(self):
        """Fails if paths are compared as texts."""
        with tempfile.TemporaryDirectory() as folder:
            file, link = folder + "/file", folder + "/link"
            os.symlink(file, link)
            self.files[link] = "old"
            self.functions["file_write_safe"] = lambda path, content: self.files.update({file: content, link: content})
            self.chain("file_write_safe('{}', 'new')\nb = peek(9, '{}')".format(file, link))
        self.assertEqual(self.variables(), {"b": "new"})

    def test_each_step_sees_and_shows_its_own_value_of_a_name(self):
        """Bug c: fails without write-after-read and write-after-write edges, or if text is made of the variables."""
        outcome = self.chain("a = peek(1)\nb = grep(a)\na = peek(3)")
        self.assertEqual(self.variables(), {"a": "abc", "b": ["a", "hit"]})
        self.assertEqual(outcome.text, "[a]: a\n---\n[b]: ['a', 'hit']\n---\n[a]: abc")

    def test_nested_arguments_take_the_value_of_this_turn(self):
        """Bug d: fails if names are looked for only at the top of an argument."""
        self.namespace["a"] = "stale"
        self.chain("a = peek(2)\nb = grep([a])\nc = grep({'x': (a, -1)})")
        self.assertEqual(self.namespace["b"][0], ["ab"])
        self.assertEqual(self.namespace["c"][0], {"x": ("ab", -1)})

    def test_none_is_a_value(self):
        """Bug e: fails if a result of None is taken for a failure."""
        outcome = self.chain("a = tools.db.row('k')\nb = grep(a)\nc = grep('x')")
        self.assertEqual((outcome.error, self.namespace["a"], self.namespace["b"]), (None, None, [None, "hit"]))
        self.assertIn("[a]: None", outcome.text)

    def test_a_result_that_looks_like_an_error_is_a_text(self):
        """Bug f: fails if results that begin with [ERROR: end the chain."""
        self.functions["run_shell"] = lambda command: "[ERROR: disk]"
        outcome = self.chain("a = run_shell('df')\nb = grep(a)")
        self.assertEqual((outcome.error, self.namespace["b"]), (None, ["[ERROR: disk]", "hit"]))

    def test_the_value_of_the_last_line_is_the_value_of_the_cell(self):
        self.assertEqual(self.chain("a = peek(1)\ngrep('x')").value, ["x", "hit"])
        self.assertEqual(self.chain("a = peek(1)\nb = grep('x')\na").value, "a")
        self.assertIsNone(self.chain("a = peek(1)\nb = grep('x')").value)


class FailureTest(ChainCase):
    def test_a_failure_leaves_what_the_lines_before_it_made(self):
        """Bug f: fails if outputs are dropped, later names bound, or earlier lines of later waves left out."""
        code = "a = peek(1)\nb = grep(a)\nc = peek(1, 'none')\nd = peek(2)\nrun_shell('x')"
        outcome = self.chain(code)
        chained, self.namespace = self.variables(), {}
        self.assertIsInstance(self.run_lines(code), KeyError)
        self.assertIsInstance(outcome.error, KeyError)
        self.assertEqual(chained, self.variables())
        self.assertEqual(chained, {"a": "a", "b": ["a", "hit"]})
        self.assertTrue(outcome.text.startswith("[a]: a\n---\n[b]: ['a', 'hit']"), outcome.text)
        self.assertNotIn(("run_shell", "x"), self.called)

    def test_a_call_that_ran_beside_a_failed_one_is_told(self):
        """Fails if it is left out of the text, or its name is bound."""
        through = threading.Event()

        def failing(_prompt):
            through.wait(PATIENCE)
            raise ValueError

        self.functions.update(llm_call=failing, log_append=lambda name, text: through.set())
        outcome = self.chain("a = llm_call('x')\nb = log_append('n', 't')", Options("dep", parallel_mutations=True))
        self.assertEqual(outcome.text, "[b had run already; its result is not kept]")
        self.assertEqual(self.variables(), {})

    def test_of_several_failures_the_first_line_counts(self):
        """Fails if the first in time is reported."""
        late = threading.Event()

        def slow(prompt):
            late.wait(PATIENCE)
            raise ValueError(prompt)

        def quick(pattern):
            late.set()
            raise OSError(pattern)

        self.functions.update(llm_call=slow, grep=quick)
        outcome = self.chain("a = llm_call('first')\nb = grep('second')")
        self.assertEqual(repr(outcome.error), "ValueError('first')")
        self.assertEqual(self.variables(), {})

    def test_a_call_that_waits_for_its_turn_is_not_made_after_a_failure(self):
        """Fails if the calls of a wave are all made, whatever happens."""

        def failing(_prompt):
            raise ValueError

        self.functions["llm_call"] = failing
        options = Options("dep", parallel_tools=False, parallel_mutations=True)
        self.chain("a = llm_call('x')\nb = log_append('n', 't')", options)
        self.assertEqual(self.called, [("llm_call", "x")])

    def test_no_effect_happens_after_a_line_that_fails(self):
        """Fails if tools with effects need not wait for the steps before them."""
        code = "a = peek(1)\nb = peek(1, a)\nrun_shell('x')"
        self.assertEqual(str(self.chain(code).error), "'a'")
        self.assertEqual([call[0] for call in self.called], ["peek", "peek"])

    def test_arguments_that_cannot_be_computed_fail_like_the_line(self):
        """Bug d: fails if they become None."""
        outcome = self.chain("a = grep('x')\nb = grep({'k': a['k']})\nc = peek(1)")
        self.assertIsInstance(outcome.error, TypeError)
        self.assertEqual(set(self.variables()), {"a"})

    def test_a_traceback_names_the_line(self):
        error = self.chain("a = peek(1)\nb = peek(\n  1, 'none')").error
        frames = traceback.extract_tb(error.__traceback__)
        self.assertIn(("<cell 1>", 2), [(frame.filename, frame.lineno) for frame in frames])


class ParallelTest(ChainCase):
    def barrier(self, parties):
        meeting = threading.Barrier(parties, timeout=PATIENCE)
        return lambda *_arguments: meeting.wait() >= 0

    def test_reads_run_side_by_side(self):
        """Fails if they run one by one: nobody comes to the barrier."""
        self.functions["llm_call"] = self.barrier(4)
        outcome = self.chain("\n".join("v{0} = llm_call('{0}')".format(number) for number in range(8)))
        self.assertIsNone(outcome.error)
        self.assertEqual(self.variables(), {"v%d" % number: True for number in range(8)})
        report = outcome.report
        self.assertRegex(report["chain_id"], "^[0-9a-f]{12}$")
        [wave] = report["wave_timeline"]
        self.assertEqual((wave["wave_index"], wave["tools"], wave["mode_used"]), (0, ["llm_call"] * 8, "parallel"))
        self.assertEqual((report["waves"], report["steps"], report["mode_used"]), (1, 8, "parallel_read_only"))

    def test_no_more_run_at_once_than_may(self):
        """Fails if every step gets a thread."""
        lock, running, widest = threading.Lock(), [0], [0]
        meeting = threading.Barrier(3, timeout=PATIENCE)

        def busy(_prompt):
            with lock:
                running[0] += 1
                widest[0] = max(widest[0], running[0])
            meeting.wait()
            with lock:
                running[0] -= 1

        self.functions["llm_call"] = busy
        with mock.patch.object(crew, "_Thread", mock.Mock(side_effect=threading.Thread)) as started:
            self.chain("\n".join(["llm_call('x')"] * 9), Options("dep", most_at_once=3))
        self.assertEqual((widest[0], started.call_count), (3, 3))

    def test_effects_run_one_by_one_in_the_order_of_the_lines(self):
        """Fails if tools with effects go into the threads."""
        self.chain(
            "log_append('n', '1')\na = peek(1)\nlog_append('n', '2')\nfile_write_safe('/w/x', 'y')\nlog_append('n', '3')"
        )
        self.assertEqual(
            [call[0] for call in self.called], ["peek", "log_append", "log_append", "file_write_safe", "log_append"]
        )
        self.assertEqual(self.files["/w/logs/n"], "123")

    def test_safe_effects_run_side_by_side_if_asked_for(self):
        """Fails if parallel_mutations is not looked at."""
        self.functions["log_append"] = self.barrier(2)
        outcome = self.chain("log_append('a', '1')\nlog_append('b', '2')", Options("dep", parallel_mutations=True))
        self.assertEqual((outcome.error, outcome.report["parallel_mutations_enabled"]), (None, True))

    def test_threads_are_gone_afterwards(self):
        """Fails if they are not joined; a session with threads cannot be checkpointed."""

        class Slow(threading.Thread):
            def run(self):
                super().run()
                time.sleep(0.05)

        before = threading.active_count()
        with mock.patch.object(crew, "_Thread", Slow):
            self.chain("a = peek(1)\nb = peek(2)\nc = peek(3)")
        self.assertEqual(threading.active_count(), before)

    def test_without_threads_the_steps_run_one_by_one(self):
        """Fails if the error of start() is passed on, as in Pyodide."""
        unstartable = mock.Mock()
        unstartable.return_value.start.side_effect = RuntimeError("can't start new thread")
        with mock.patch.object(crew, "_Thread", unstartable):
            self.chain("a = peek(1)\nb = peek(2)\nc = grep(a)")
        self.assertEqual(self.variables(), {"a": "a", "b": "ab", "c": ["a", "hit"]})
        self.assertTrue(unstartable.called)

    def test_parallel_tools_can_be_turned_off(self):
        threads = set()
        self.functions["llm_call"] = lambda prompt: threads.add(threading.get_ident())
        self.chain("a = llm_call('1')\nb = llm_call('2')", Options("dep", parallel_tools=False))
        self.assertEqual(threads, {threading.get_ident()})


class InterruptTest(ChainCase):
    def test_an_interrupt_ends_the_chain_though_a_tool_hangs(self):
        """Bug g: fails if the threads are waited for, or if the interrupt is taken for the failure of a step."""
        released, begun, left = threading.Event(), threading.Barrier(2, timeout=PATIENCE), []
        self.addCleanup(released.set)

        def hanging(_prompt):
            begun.wait()
            left.append(released.wait(PATIENCE))

        def interrupting(pattern):
            begun.wait()
            _thread.interrupt_main()
            return pattern

        self.functions.update(llm_call=hanging, grep=interrupting)
        code = "a = grep('x')\nb = llm_call('y')\nc = peek(1)\nd = peek(2)\ne = run_shell('z')"
        outcome = self.chain(code, Options("dep", most_at_once=2))
        self.assertIsInstance(outcome.error, KeyboardInterrupt)
        self.assertEqual(left, [])
        self.assertNotIn("b", self.variables())
        self.assertNotIn("e", self.variables())
        self.assertNotIn("run_shell", [call[0] for call in self.called])

    def test_an_interrupt_in_a_lone_step_keeps_what_was_done(self):
        """Fails if the steps after it are tried."""

        def interrupted(_command):
            raise KeyboardInterrupt

        self.functions["run_shell"] = interrupted
        outcome = self.chain("a = peek(1)\nrun_shell('x')\nfile_write_safe('/w/a.txt', 'new')")
        self.assertIsInstance(outcome.error, KeyboardInterrupt)
        self.assertEqual((self.variables(), outcome.text), ({"a": "a"}, "[a]: a"))
        self.assertEqual(self.files["/w/a.txt"], "old")

    def test_no_wave_begins_after_an_interrupt(self):
        """Fails if lines before the interrupted one are still run, as after a failure."""

        def interrupted(_prompt):
            raise KeyboardInterrupt

        self.functions["llm_call"] = interrupted
        outcome = self.chain("a = peek(1)\nb = grep(a)\nc = llm_call('x')")
        self.assertIsInstance(outcome.error, KeyboardInterrupt)
        self.assertNotIn("grep", [call[0] for call in self.called])

    def test_a_crew_that_was_stopped_takes_no_more_jobs(self):
        """Fails if workers look for their next job only."""
        team, done = crew.Crew(2), []

        def blocking():
            _thread.interrupt_main()
            while not team._is_stopped:
                time.sleep(0.001)

        with mock.patch.object(crew, "LEAVING_SECONDS", PATIENCE), self.assertRaises(KeyboardInterrupt):
            team.run([blocking, blocking, lambda: done.append(1)])
        self.assertEqual(done, [])

    def test_what_waits_for_its_turn_is_not_begun_any_more(self):
        """Fails if workers go on with the next job after an interrupt."""
        released = threading.Event()
        self.addCleanup(released.set)

        def blocking(_prompt):
            _thread.interrupt_main()
            released.wait(PATIENCE)

        self.functions["llm_call"] = blocking
        self.chain("a = llm_call('1')\nb = llm_call('2')\nc = peek(1)\nd = peek(2)", Options("dep", most_at_once=2))
        released.set()
        for thread in threading.enumerate():
            if thread.name == "chain":
                thread.join(PATIENCE)
        self.assertNotIn("peek", [call[0] for call in self.called])


class CallerTest(ChainCase):
    def test_each_call_knows_its_place_in_whichever_thread(self):
        """Fails if threads do not get the context of the cell, or share one place."""
        scope, callers = Scope(), []
        self.functions.update(
            llm_call=lambda prompt: callers.append((prompt, scope.caller())),
            run_shell=lambda command: callers.append((command, scope.caller())),
        )
        code = "a = llm_call('0')\nrun_shell('1')\nx = 5\nb = llm_call('2')"
        report = self.chain(code, DEP, scope.hook()).report
        expected = [
            (str(n), {"caller_type": "chain", "chain_id": report["chain_id"], "chain_index": n}) for n in range(3)
        ]
        self.assertEqual(sorted(callers, key=str), expected)
        self.assertEqual(scope.caller(), {"caller_type": "cell"})

    def test_the_calls_of_a_cell_are_numbered_as_they_come(self):
        scope = Scope()
        with scope.cell("0123456789ab"):
            self.assertEqual([scope.caller()["chain_index"] for _ in range(3)], [0, 1, 2])
        with scope.cell(None):
            self.assertEqual(scope.caller(), {"caller_type": "cell"})


class ReportTest(ChainCase):
    def test_the_report_has_what_the_host_expects(self):
        """As in src/protocol/agent/chain-report.ts."""
        report = self.chain("a = peek(1)\ntools.db.put('k', 1)\nb = grep(a)\nc = peek(2)\nd = peek(1, 'none')").report
        timeline = [dict(wave, elapsed_ms=0) for wave in report.pop("wave_timeline")]
        self.assertRegex(report.pop("chain_id"), "^[0-9a-f]{12}$")
        self.assertEqual(
            report,
            {
                "mode_requested": "dep",
                "mode_used": "dep",
                "fallback_to_seq": False,
                "reason": None,
                "parallel_mutations_enabled": False,
                "waves": 2,
                "steps": 5,
            },
        )
        self.assertEqual([wave["wave_index"] for wave in timeline], [0, 1])
        self.assertEqual(timeline[1], {"wave_index": 1, "tools": ["grep"], "mode_used": "seq", "elapsed_ms": 0})
        self.assertEqual(
            set(sequential_report(self.plan("for n in x:\n    peek(n)\n    grep(n)"))),
            set(report) | {"chain_id", "wave_timeline"},
        )


class OutputTest(ChainCase):
    def test_what_is_printed_is_shown_as_printed_and_the_rest_short(self):
        self.functions["peek"] = lambda n: "line\n" * n
        outcome = self.chain("a = peek(2000)\nb = peek(3)\nx = 'n'\nprint(x, b)\nc = grep('x')\nc")
        shown, printed, last = outcome.text.split("\n---\n")
        self.assertTrue(shown.startswith("[a]: line\n"))
        self.assertLess(len(shown), 2000)
        self.assertIn("characters left out", shown)
        self.assertEqual((printed, last), ("n line\nline\nline\n", "[c]: ['x', 'hit']"))

    def test_a_failed_print_fails_where_it_stands(self):
        outcome = self.chain("a = peek(1)\nprint(a['k'])\nrun_shell('x')")
        self.assertIsInstance(outcome.error, TypeError)
        self.assertNotIn("run_shell", [call[0] for call in self.called])

    def test_a_plan_can_be_executed_with_other_variables(self):
        planned = self.plan("a = peek(1)\nb = grep(a)")
        execute(planned, self.prepared())
        self.assertEqual(self.variables()["b"], ["a", "hit"])


if __name__ == "__main__":
    unittest.main()
