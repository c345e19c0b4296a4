"""Which turns are run as a chain, which as any other cell, and which not at all."""

import builtins
import unittest
from unittest import mock

from chain_case import DEP, REGISTRY, ChainCase

from cellar_runner.agent.chain.facts import Catalogue
from cellar_runner.agent.chain.plan import Options, Plan, Refusal, Sequential, mode_of
from cellar_runner.agent.chain.report import sequential_report


class PlanCase(ChainCase):
    def waves(self, code, options=DEP):
        """The tools of each wave."""
        planned = self.plan(code, options)
        self.assertIsInstance(planned, Plan, planned)
        return [wave.tools for wave in planned.waves if wave.tools]

    def refused(self, code, *parts, options=DEP):
        refusal = self.plan(code, options)
        self.assertIsInstance(refusal, Refusal, code)
        for part in parts:
            self.assertIn(part, refusal.message)

    def sequential(self, code, options=DEP):
        found = self.plan(code, options)
        self.assertIsInstance(found, Sequential, code)
        return found


class FindingTest(PlanCase):
    def test_calls_in_comments_and_texts_are_none(self):
        """Fails if names are looked for in the text."""
        code = "a = peek(1)\n# run_shell('x'); delegate('y')\nb = grep('tools.db.drop(1) FINAL(2)')"
        self.assertEqual(self.waves(code), [["peek", "grep"]])

    def test_a_final_in_a_comment_or_text_ends_nothing(self):
        """Fails if FINAL is looked for in the text, as in `"FINAL(" in code`."""
        for last in ("# FINAL('oops')", "b = grep('FINAL(1)')"):
            code = "a = peek(1)\nc = peek(2)\n" + last
            self.assertEqual(self.plan(code).mode_used, "parallel_read_only", code)

    def test_a_turn_with_an_answer_runs_all_that_stands_before_it(self):
        """Fails if FINAL() is taken for a tool."""
        for answer in ("FINAL(b)", "FINAL_VAR('b')", "SUBMIT(b=b)"):
            self.sequential("a = peek(1)\nb = grep(a)\n" + answer)

    def test_calls_are_found_in_every_form(self):
        """Fails if only names are looked at, not attributes or wrappers."""
        for call in (
            "TOOL('db.put', key='k', value=1)",
            "CALL('db.put', '{\"key\": \"k\"}')",
            "tool_call('db.put', {'key': 'k'})",
            "tools.db.put('k', 1)",
            "[tools.db.put(n, 1) for n in range(3)]",
            "await tools.db.put.later('k', 1)",
        ):
            found = self.plan("a = peek(1)\n" + call)
            tools = (
                found.tools if isinstance(found, Sequential) else [one for wave in found.waves for one in wave.tools]
            )
            self.assertEqual(sorted(tools), ["db.put", "peek"], call)

    def test_searches_are_tools_like_any_other(self):
        """Bug h: fails without code_search, doc_search and web_search among the built-ins."""
        code = "a = code_search('x')\nb = doc_search('y')\nc = web_search('z')"
        self.assertEqual(self.waves(code), [["code_search", "doc_search", "web_search"]])

    def test_code_that_is_no_python_is_left_to_the_cell(self):
        for code in ("a = peek(1\nb = grep(2)", "", "%%bash\npeek", "x" * 10 + "("):
            self.assertIsNone(self.sequential(code).chain_id)


class GateTest(PlanCase):
    def test_routing_is_never_one_call_of_several(self):
        """Fails if is_routing is not looked at."""
        for name in ("delegate", "escalate"):
            self.refused("a = peek(1)\n{}('x')".format(name), name, "turn of its own")
            self.refused("for n in x:\n    peek(n)\n    {}('x')".format(name), name, options=Options("seq"))
            self.sequential("{}('x')".format(name))
        everything = self.catalogue.functions["delegate"]._replace(is_read_only=True, is_chain_enabled=True)
        self.catalogue = Catalogue(dict(self.catalogue.functions, delegate=everything))
        self.refused("a = peek(1)\ndelegate('x')", "delegate")

    def test_tools_with_effects_must_be_enabled_for_chains(self):
        """Bug i: fails if is_chain_enabled is not looked at."""
        for code in (
            "a = peek(1)\ntools.db.drop(1)",
            "TOOL('db.drop', key=1)\ntools.db.put('k', 1)",
            "if x:\n    run_shell('a')\n    tool_call('db.drop', {})",
        ):
            for mode in ("seq", "dep"):
                self.refused(code, "db.drop", "allowed_callers", options=Options(mode))
        self.assertEqual(self.waves("run_shell('a')\nb = tools.db.put('k', 1)"), [["run_shell"], ["db.put"]])

    def test_a_wrapper_never_reaches_a_function_of_the_same_name(self):
        """Bug i: fails if functions and tools of the registry are looked up in one table."""
        self.refused("a = peek(1)\nTOOL('run_shell', command='x')", "no tool 'run_shell'")
        self.refused("a = peek(1)\nTOOL('db.rows')", "did you mean db.row")

    def test_a_name_that_is_computed_is_not_run_in_a_chain(self):
        """Fails if a tool without facts is taken for one that only reads."""
        self.refused("a = peek(1)\nTOOL(a, x=1)", "TOOL(dynamic)", "write the name")
        self.refused("a = peek(1)\ntool_call('db.' + a, {})", "tool_call(dynamic)")
        self.sequential("TOOL(name, x=1)")

    def test_legacy_allows_one_tool_or_several_that_read(self):
        """Fails if legacy is treated as seq."""
        legacy = Options("legacy")
        self.refused("run_shell('a')\nrun_shell('b')", "run_shell", options=legacy)
        self.refused("a = peek(1)\nrun_shell('b')", "peek, run_shell", options=legacy)
        self.assertEqual(self.sequential("run_shell('a')", legacy).mode_used, "legacy")
        self.assertEqual(self.plan("a = peek(1)\nb = peek(2)", legacy).mode_used, "parallel_read_only")

    def test_an_unknown_mode_is_seq(self):
        self.assertEqual(
            [mode_of(text) for text in ("dep", "DEP", None, 3, "legacy")], ["dep", "seq", "seq", "seq", "legacy"]
        )


class ShapeTest(PlanCase):
    def test_what_is_not_plainly_a_list_of_calls_runs_as_any_other_cell(self):
        """Bug a: fails if one of these is found out only when its step comes."""
        self.namespace.update(thing=object(), table={"k": 1})
        for code in (
            "b = grep(a.upper())",
            "b = grep(len(a))",
            "b = grep(nothing)",
            "b = grep(*a)",
            "b = grep(**a)",
            "b = grep(f'{thing}')",
            "b = grep(thing + 1)",
            "b = grep(thing.x)",
            "b = grep(a.__class__)",
            "b = grep(peek(2))",
            "b = grep([x for x in a])",
            "b = grep(a if a else 'x')",
            "b, c = grep(a)",
            "b = c = grep(a)",
            "b: list = grep(a)",
            "b.x = grep(a)",
            "b = await llm_call(a)",
            "for x in a:\n    grep(x)",
            "import os\nb = grep(a)",
            "peek = grep(a)",
            "context = grep(a)",
            "print(thing, grep(a))",
            "print(a, file=grep(a))",
            "print(thing)\nb = grep(a)",
            "b = grep(a)\nb.sort()",
            "b = grep(a)\nb[0]",
            "b = grep(a)\ndel a",
        ):
            found = self.sequential("a = run_shell('date')\n" + code)
            self.assertTrue(found.is_fallback, code)
            report = sequential_report(found)
            self.assertEqual((report["mode_used"], report["fallback_to_seq"], report["waves"]), ("seq", True, 0))

    def test_arguments_that_have_no_effects_are_computed(self):
        self.namespace.update(table={"k": [1]}, number=3)
        for argument in (
            "a + 'x'",
            "a[0]",
            "a[1:]",
            "a['k'].name",
            "-number",
            "table['k'][0]",
            "f'{a}-{number:>3}'",
            "{'x': (a, [number])}",
            "{1, 2}",
        ):
            code = "a = run_shell('date')\nb = grep({})".format(argument)
            self.assertEqual(sum(self.waves(code), []), ["run_shell", "grep"], code)

    def test_a_session_that_cannot_wait_leaves_it_to_the_cell(self):
        self.assertIn("cannot wait", self.sequential("a = peek(1)\nb = peek(2)", DEP._replace(can_wait=False)).reason)

    def test_more_steps_than_a_chain_may_have(self):
        self.sequential("\n".join(["peek(1)"] * 201))
        self.assertEqual(len(self.waves("\n".join(["peek(1)"] * 200))[0]), 200)

    def test_a_turn_that_hides_a_tool_is_none(self):
        self.namespace["grep"] = len
        self.sequential("a = peek(1)\nb = grep('x')")


class WaveTest(PlanCase):
    def test_a_session_with_a_print_of_its_own_runs_as_any_other_cell(self):
        """Fails if a chain shows by itself what the session's own print() would have taken."""
        code = "a = peek(1)\nb = peek(2)\nprint(a)"
        with mock.patch.object(builtins, "print", lambda *_values: None):
            self.assertIn("print()", self.sequential(code).reason)
        self.assertEqual(self.waves(code), [["peek", "peek"]])

    def test_reads_with_known_arguments_are_one_batch_in_every_mode(self):
        self.namespace["path"] = "/w/a.txt"
        code = (
            "'''Look.'''\nhere = '/w'\na = peek(3, path)\nb = list_dir(here)\nc = TOOL('look', path='x')\nprint('done')"
        )
        for mode in ("legacy", "seq", "dep"):
            self.assertEqual(self.plan(code, Options(mode)).mode_used, "parallel_read_only")
        self.assertEqual(self.plan(code, Options("seq", parallel_tools=False)).mode_used, "seq")
        self.assertEqual(self.plan("a = peek(1)\nb = grep(a)", Options("seq")).mode_used, "seq")

    def test_names_order_the_waves(self):
        """Bugs c and d: fails without write-after-read, write-after-write, or names in nested arguments."""
        for code, expected in (
            ("a = peek(1)\nb = grep(a)", [["peek"], ["grep"]]),
            ("a = peek(1)\nb = grep([{'x': (a,)}])", [["peek"], ["grep"]]),
            ("a = peek(1)\nb = grep(a)\na = peek(3)", [["peek"], ["grep"], ["peek"]]),
            ("a = peek(1)\na = grep('x')", [["peek"], ["grep"]]),
            ("a = peek(1)\nx = a\nb = grep(x)\nc = peek(2)", [["peek", "peek"], ["grep"]]),
            ("a = peek(1)\nprint(a)\na = peek(2)", [["peek"], ["peek"]]),
            ("a = peek(1)\nb = grep('x', context_lines=a)", [["peek"], ["grep"]]),
        ):
            self.assertEqual(self.waves(code), expected, code)

    def test_state_outside_orders_the_waves(self):
        """Bug b: fails if only names are compared."""
        write = "file_write_safe('/w/a.txt', 'new')\n"
        for code, expected in (
            (write + "a = peek(9, '/w/a.txt')", [["file_write_safe"], ["peek"]]),
            (write + "a = peek(9, file='/w/../w/a.txt')", [["file_write_safe"], ["peek"]]),
            (write + "a = list_dir('/w')", [["file_write_safe"], ["list_dir"]]),
            (write + "a = list_dir()", [["file_write_safe"], ["list_dir"]]),
            (write + "a = peek(9, '/w/a.txt.bak.1')", [["file_write_safe"], ["peek"]]),
            (write + "p = '/w/' + 'a.txt'\na = grep('x', f'{p}')", [["file_write_safe"], ["grep"]]),
            (write + "a = TOOL('look', path='/w/a.txt')", [["file_write_safe"], ["look"]]),
            (write + "a = tool_call('look', {'path': '/w/a.txt'})", [["file_write_safe"], ["look"]]),
            (write + "a = CALL('look', '{\"path\": \"/w/a.txt\"}')", [["file_write_safe"], ["look"]]),
            (write + "a = code_search('x')", [["file_write_safe"], ["code_search"]]),
            (write + "a = tools.guess()", [["file_write_safe"], ["guess"]]),
            (
                write + "a = run_shell('cat a.txt')\nb = peek(3, '/w/b.txt')",
                [["file_write_safe"], ["run_shell"], ["peek"]],
            ),
            ("a = peek(9, '/w/a.txt')\n" + write, [["peek"], ["file_write_safe"]]),
            ("a = archive_open('x.zip')\nb = archive_file('y')", [["archive_open"], ["archive_file"]]),
            ("a = archive_file('y')\nb = archive_open('x.zip')", [["archive_file"], ["archive_open"]]),
            ("a = archive_file('y', 'x.zip')\nb = archive_file('z')", [["archive_file"], ["archive_file"]]),
            ("file_write_safe('b.txt', 'x')\na = peek(9, '/w/b.txt')", [["file_write_safe"], ["peek"]]),
            ("log_append('x', 't')\na = peek(9, '/w/logs/x.log')", [["log_append"], ["peek"]]),
            ("tools.db.put('k', 1)\na = tools.db.row('k')", [["db.put"], ["db.row"]]),
            ("a = llm_call('k')\ntools.db.put(a, 1)\nb = tools.db.row('k')", [["llm_call"], ["db.put"], ["db.row"]]),
            # Apart from each other.
            (write + "a = peek(9, '/w/b.txt')", [["file_write_safe", "peek"]]),
            (write + "a = peek(9)", [["file_write_safe", "peek"]]),
            (write + "a = peek(9, '/w/a')", [["file_write_safe", "peek"]]),
            ("tools.db.put('k', 1)\na = tools.db.row('j')", [["db.put", "db.row"]]),
            ("log_append('x', 't')\na = peek(9, '/w/logs/y.log')", [["log_append", "peek"]]),
            ("a = archive_file('x')\nb = archive_search('y')", [["archive_file", "archive_search"]]),
            ("run_shell('x')\na = llm_call('y')", [["run_shell", "llm_call"]]),
        ):
            self.assertEqual(self.waves(code), expected, code)

    def test_effects_run_side_by_side_only_if_asked_for_and_only_the_safe_ones(self):
        """Fails if parallel_mutations is not looked at, or holds for every tool."""
        code = "file_write_safe('/w/x', '1')\nlog_append('n', 't')\nmark_finding('k')"
        for asked, expected in ((False, 0), (True, 2)):
            [wave] = self.plan(code, Options("dep", parallel_mutations=asked)).waves
            self.assertEqual((len(wave.together), len(wave.in_turn)), (expected, 3 - expected))

    def test_a_tool_of_the_registry_with_a_safe_name_is_not_safe(self):
        """Fails if the name alone makes a tool safe."""
        catalogue = Catalogue(self.catalogue.functions, dict(REGISTRY, run_shell=REGISTRY["db.put"]))
        self.catalogue = catalogue
        [wave] = self.plan(
            "a = tools.run_shell('k', 1)\nb = tools.db.put('j', 2)", Options("dep", parallel_mutations=True)
        ).waves
        self.assertEqual(wave.together, ())


if __name__ == "__main__":
    unittest.main()
