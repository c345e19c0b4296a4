"""A chain is replayed from its log without its tools, and says where it leaves the log."""

import json
import unittest

from chain_case import ChainCase

from cellar_runner.agent.chain.replay import log_of, replay

CODE = "a = peek(2)\nb = TOOL('look', path='/w/a.txt')\nc = tools.db.put('k', [a, b])\nd = grep(pattern=a)"


class ReplayTest(ChainCase):
    def logged(self, code=CODE):
        """The log of a chain, as a file would give it back."""
        log = json.loads(json.dumps(log_of(self.chain(code).calls)))
        self.called.clear()
        return log

    def replayed(self, code, log):
        divergence = replay(code, self.catalogue, self.namespace, log)
        self.assertEqual(self.called, [], "a tool was called")
        return divergence

    def test_the_log_tells_every_call_in_the_order_of_the_lines(self):
        log = self.logged()
        self.assertEqual(
            [(one["chain_index"], one["tool"]) for one in log], [(0, "peek"), (1, "look"), (2, "db.put"), (3, "grep")]
        )
        self.assertEqual(log[2]["args"], {"key": "k", "value": ["ab", "old"]})
        self.assertEqual(log[3]["outcome"], {"value": ["ab", "hit"]})
        for call in (
            "tool_call('look', {'path': '/w/a.txt'})",
            "TOOL(name='look', path='/w/a.txt')",
            "tools.look('/w/a.txt')",
        ):
            self.assertEqual(self.logged("a = peek(1)\nb = " + call)[1]["args"], {"path": "/w/a.txt"}, call)

    def test_the_same_turn_does_not_diverge_and_calls_nothing(self):
        """Fails if a tool is called, or if calls are compared by time."""
        log = self.logged()
        self.assertIsNone(self.replayed(CODE, log))
        self.assertIsNone(self.replayed(CODE, list(reversed(log))))

    def test_it_says_which_step_differs_and_how(self):
        """Fails if tools or arguments are not compared."""
        log = self.logged()
        for old, new, at, got in (
            ("peek(2)", "peek(3)", 0, {"tool": "peek", "args": {"n": 3}}),
            ("'/w/a.txt'", "'/w/b.txt'", 1, {"tool": "look", "args": {"path": "/w/b.txt"}}),
            ("pattern=a", "pattern=b", 3, {"tool": "grep", "args": {"pattern": "old"}}),
            ("tools.db.put('k', [a, b])", "llm_call(a)", 2, {"tool": "llm_call", "args": {"prompt": "ab"}}),
        ):
            divergence = self.replayed(CODE.replace(old, new), log)
            self.assertEqual((divergence.chain_index, divergence.expected["tool"]), (at, log[at]["tool"]))
            self.assertEqual(divergence.got, got)

    def test_a_result_that_was_changed_shows_in_the_next_step(self):
        """Fails if the replay computes results itself."""
        log = self.logged()
        log[0]["outcome"]["value"] = "zz"
        divergence = self.replayed(CODE, log)
        self.assertEqual((divergence.chain_index, divergence.got["args"]), (2, {"key": "k", "value": ["zz", "old"]}))

    def test_more_or_fewer_calls_than_the_log_has(self):
        log = self.logged()
        more = self.replayed(CODE + "\npeek(1)", log)
        self.assertEqual((more.chain_index, more.expected, more.got["tool"]), (4, None, "peek"))
        fewer = self.replayed(CODE.replace("\nd = grep(pattern=a)", ""), log)
        self.assertEqual((fewer.chain_index, fewer.expected["tool"], fewer.got), (3, "grep", None))

    def test_a_chain_that_failed_fails_again(self):
        """Fails if an error of the log is given as a value, or takes the replay for diverged."""
        code = "a = peek(1)\nb = peek(1, 'none')\nc = grep(b)"
        log = self.logged(code)
        self.assertEqual(log[1]["outcome"], {"error": {"type": "KeyError", "message": "'none'"}})
        self.assertIsNone(self.replayed(code, log))
        between = "a = peek(1)\nb = grep(a['k'])"
        self.assertIsNone(self.replayed(between, self.logged(between)))

    def test_code_cannot_catch_the_divergence(self):
        """Fails if it is an Exception."""
        log = self.logged("a = peek(1)\nb = peek(2)")
        code = "try:\n    a = peek(7)\nexcept Exception:\n    a = 1\nb = peek(2)"
        self.assertEqual(self.replayed(code, log).chain_index, 0)

    def test_any_code_can_be_replayed_that_makes_the_same_calls(self):
        log = self.logged("a = peek(1)\nb = peek(2)")
        self.assertIsNone(self.replayed("found = [peek(n) for n in (1, 2)]", log))
        with self.assertRaisesRegex(ValueError, "cannot be replayed"):
            self.replayed("await peek(1)", log)

    def test_variables_stay_as_they_are(self):
        log = self.logged("a = peek(1)\nb = peek(2)")
        self.namespace["a"] = "mine"
        self.replayed("a = peek(1)\nb = peek(2)", log)
        self.assertEqual(self.namespace["a"], "mine")

    def test_a_result_that_was_not_kept_whole_is_told(self):
        self.functions["llm_call"] = lambda prompt: "x" * 200_000
        code = "a = llm_call('1')\nb = peek(1)"
        log = self.logged(code)
        self.assertIn("only part of the result", self.replayed(code, log).got["missing"])
        self.assertLess(len(json.dumps(log)), 10_000)

    def test_a_log_has_a_limit_whatever_the_tools_give(self):
        """Fails if each result is bounded only by itself: the report must fit into a message."""
        self.functions["llm_call"] = lambda prompt: "x" * 90_000
        log = self.logged("\n".join(["llm_call('{}')".format("y" * 30_000)] * 200))
        self.assertEqual(len(log), 200)
        self.assertLess(len(json.dumps(log)), 7_000_000)
        self.assertIn("loss", log[-1]["outcome"])


if __name__ == "__main__":
    unittest.main()
