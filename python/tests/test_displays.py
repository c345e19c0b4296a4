"""Rich outputs: bounded, guarded, and images apart from the result."""
import io
import sys
import unittest

from cell_case import CellCase

from cellar_runner.output import displays
from cellar_runner.values import reprs

try:
    import matplotlib.pyplot as pyplot
except ImportError:
    pyplot = None


class BundleTest(CellCase):
    def result(self, code):
        outcome = self.run_cell(code)
        self.assertEqual(outcome["status"], "ok", outcome["error"])
        return outcome["result"]

    def test_methods_of_an_object(self):
        code = (
            "class Rich:\n"
            "    def __repr__(self): return 'plain'\n"
            "    def _repr_html_(self): return '<p>'\n"
            "    def _repr_markdown_(self): return ('# m', {'meta': 1})\n"
            "    def _repr_json_(self): return {'a': [1]}\n"
            "    def _repr_latex_(self): return None\n"
            "Rich()"
        )
        expected = {
            "text/plain": "plain",
            "text/html": "<p>",
            "text/markdown": "# m",
            "application/json": '{"a": [1]}',
        }
        self.assertEqual(self.result(code), expected)

    def test_a_mimebundle_comes_first(self):
        code = (
            "class B:\n"
            "    def _repr_mimebundle_(self, include=None, exclude=None):\n"
            "        return {'text/plain': 'mine', 'text/html': '<i>',\n"
            "                'application/x+json': {'k': 1}}\n"
            "    def _repr_html_(self): return '<b>'\n"
            "B()"
        )
        expected = {"text/plain": "mine", "text/html": "<i>", "application/x+json": '{"k": 1}'}
        self.assertEqual(self.result(code), expected)

    def test_images_are_displays_that_belong_to_the_result(self):
        code = (
            "class P:\n    def _repr_png_(self): return b'\\x89PNG'\n"
            "    def __repr__(self): return 'p'\nP()"
        )
        self.assertEqual(self.result(code), {"text/plain": "p"})
        self.assertEqual(self.shown, [{"image/png": b"\x89PNG", "text/plain": "p"}])
        self.assertEqual(self.roles, [{"role": "result"}])

    def test_failing_methods_are_errors_beside_what_can_be_shown(self):
        code = (
            "class F:\n    def __repr__(self): return 'f'\n"
            "    def _repr_html_(self): raise %s('no')\n"
            "    def _repr_latex_(self): raise NotImplementedError\n"
            "    def _repr_markdown_(self): return 'm'\n"
        )
        for kind in ("ValueError", "SystemExit", "GeneratorExit"):
            with self.subTest(kind=kind):
                outcome = self.run_cell(code % kind + "F()")
                self.assertEqual(outcome["status"], "error")
                self.assertEqual(outcome["error"]["type"], kind)
                self.assertEqual(outcome["result"], {"text/plain": "f", "text/markdown": "m"})
                self.assertEqual(self.roles.pop(), {"role": "result"})
        # The cell goes on.
        self.stdout.truncate(0)
        self.error(code % "KeyError" + "display(F())\nprint('after')", "KeyError")
        self.assertIn("after", self.stdout.getvalue())

    def test_methods_of_an_instance_count_as_in_ipython(self):
        code = "class O: pass\no = O()\no._repr_html_ = lambda: '<i>'\no"
        self.assertEqual(self.result(code)["text/html"], "<i>")

    def test_an_object_that_shows_itself(self):
        code = "class S:\n    def _ipython_display_(self): print('myself')\nS()"
        self.assertIsNone(self.result(code))
        self.assertEqual(self.stdout.getvalue(), "myself\n")

    def test_include_and_exclude_reach_the_bundle(self):
        code = (
            "class B:\n    def _repr_mimebundle_(self, include, exclude):\n"
            "        return {'text/html': str((include, exclude)), 'text/latex': 'l'}\n"
            "display(B(), include=['text/html'])"
        )
        self.value(code)
        self.assertEqual(self.shown, [{"text/html": "(['text/html'], None)"}])

    def test_failing_and_odd_reprs(self):
        cases = {
            "def __repr__(self): return '\\ud800'": "\\ud800",
            "__class__ = property(lambda self: 1 / 0)": "<__main__.O at 0x",
        }
        for body, text in cases.items():
            with self.subTest(body=body):
                self.assertIn(text, self.result("class O:\n    %s\nO()" % body)["text/plain"])

    def test_a_failing_repr_fails_the_cell(self):
        make = "class O:\n    def __repr__(self): %s\n"
        cases = {
            "raise ValueError('no')": ("ValueError", "no"),
            "return 5": ("TypeError", "__repr__ returned non-string (type int)"),
            "raise SystemExit(2)": ("SystemExit", "2"),
        }
        for body, (kind, message) in cases.items():
            for last in ("O()", "[O()]"):
                with self.subTest(body=body, last=last):
                    outcome = self.run_cell(make % body + last)
                    self.assertEqual((outcome["status"], outcome["result"]), ("error", None))
                    self.assertEqual(outcome["error"]["type"], kind)
                    self.assertEqual(outcome["error"]["message"], message)
        self.error("class O:\n    def __repr__(self): return repr(self)\nO()", "RecursionError")
        self.assertIsNone(self.value(make % "raise NotImplementedError" + "O()"))

    def test_what_else_there_is_of_a_value_with_a_failing_repr_is_shown(self):
        self.value("class H:\n    def __repr__(self): raise ValueError('no')")
        self.value("class W(H):\n    def _repr_html_(self): return '<b>'")
        outcome = self.run_cell("display(W())\ndisplay(H())\nran = True\nW()")
        self.assertEqual(outcome["error"]["message"], "no")
        self.assertEqual(outcome["result"]["text/html"], "<b>")
        self.assertEqual(self.shown[0], {"text/html": "<b>"})
        self.assertEqual(self.value("ran"), "True")

    def test_catch_all_attributes_are_not_representations(self):
        code = "class Any:\n    def __getattr__(self, name): return lambda *a, **k: name\nAny()"
        self.assertEqual(list(self.result(code)), ["text/plain"])
        mock = "import unittest.mock as m\nm.MagicMock()"
        self.assertEqual(list(self.result(mock)), ["text/plain"])

    def test_large_html_is_left_out_with_a_note(self):
        code = "class H:\n    def _repr_html_(self): return 'x' * %d\nH()"
        result = self.result(code % (displays.RICH_TEXT_LIMIT + 1))
        self.assertNotIn("text/html", result)
        self.assertIn("[text/html left out: 1,000,001", result["text/plain"])
        self.assertIn("text/html", self.result(code % displays.RICH_TEXT_LIMIT))

    def test_a_bundle_is_bounded_as_a_whole(self):
        code = (
            "class M:\n    def _repr_mimebundle_(self, **k):\n"
            "        return {'x/%d' % i: '\\u1234' * 900_000 for i in range(30)}\nM()"
        )
        result = self.result(code)
        self.assertLess(sum(map(displays._cost, result.values())), 16 * 1024 * 1024)
        self.assertIn("left out", result["text/plain"])

    def test_display(self):
        self.value("display(1, 'two')")
        self.value("display({'text/html': '<b>'}, raw=True, metadata={'a': {1}})")
        self.assertEqual(
            self.shown, [{"text/plain": "1"}, {"text/plain": "'two'"}, {"text/html": "<b>"}]
        )
        self.error("display(1, raw=True)", "TypeError")


class BoundedTextTest(unittest.TestCase):
    def test_small_values_are_plain_reprs(self):
        nested = [1, {"b": (2,)}]
        for value in (1, "a", nested, {3}, frozenset([4]), b"x", None, range(5), 1.5, (1,)):
            self.assertEqual(reprs.text_of(value), repr(value))

    def test_huge_containers_are_cut(self):
        text = reprs.text_of(list(range(10**6)))
        self.assertTrue(text.startswith("[0, 1, 2, "))
        self.assertTrue(text.endswith(", ... 999,000 more]"))
        text = reprs.text_of({index: [index] * 3 for index in range(20_000)})
        self.assertTrue(text.startswith("{0: [0, 0, 0], 1: "))
        self.assertTrue(text.endswith("more}"))

    def test_huge_strings_are_cut(self):
        text = reprs.text_of("x" * 10**7)
        self.assertLess(len(text), reprs.TEXT_LIMIT + 200)
        self.assertIn("more", text)

    def test_shared_parts_do_not_explode(self):
        value = [0]
        for _ in range(60):
            value = [value, value]
        self.assertLess(len(reprs.text_of(value)), reprs.TEXT_LIMIT + 200)

    def test_cycles(self):
        value = []
        value.append(value)
        self.assertIn("...", reprs.text_of(value))

    def test_a_subclass_with_its_own_repr_is_asked(self):
        class Named(list):
            def __repr__(self):
                return "named"

        self.assertEqual(reprs.text_of(Named(range(20_000))), "named")

    def test_huge_ints(self):
        self.assertEqual(reprs.text_of(1 << 2_000_000), "<int of 2,000,001 bits>")


@unittest.skipIf(pyplot is None, "needs matplotlib")
class FigureTest(CellCase):
    def setUp(self):
        super().setUp()
        pyplot.switch_backend("Agg")
        for name in ("show", "new_figure_manager"):
            self.addCleanup(setattr, pyplot, name, getattr(pyplot, name))
        self.addCleanup(pyplot.matplotlib.interactive, pyplot.isinteractive())
        # as if it were just imported: it may know the shell of another test
        pyplot._REPL_DISPLAYHOOK = pyplot._ReplDisplayHook.NONE
        self.addCleanup(pyplot.close, "all")
        self.value("import matplotlib.pyplot as plt")

    def test_figures_left_open_are_shown_once_and_closed(self):
        self.value("plt.plot([1, 2])\nprint('x')")
        self.assertEqual(len(self.shown), 1)
        self.assertTrue(self.shown[0]["image/png"].startswith(b"\x89PNG"))
        self.assertIn("Figure", self.shown[0]["text/plain"])
        self.assertEqual(pyplot.get_fignums(), [])
        self.value("1")
        self.assertEqual(len(self.shown), 1)

    def test_the_backend_can_still_be_chosen(self):
        self.value("import matplotlib\nmatplotlib.use('Agg')\nplt.switch_backend('Agg')")

    def test_show_shows_at_once(self):
        self.value("plt.plot([1])\nplt.show()\ndisplay('after')")
        self.assertEqual(["image/png" in data for data in self.shown], [True, False])

    def test_a_figure_as_value_is_shown_where_it_is_and_at_the_end(self):
        self.assertIn("Figure", self.value("fig, ax = plt.subplots()\nax.plot([1])\nfig"))
        self.assertEqual(self.roles, [{"role": "result"}, None])
        self.value("fig")
        self.assertEqual(self.roles[2:], [{"role": "result"}])

    def test_the_end_comes_after_the_value(self):
        self.interpreter.add_barrier = lambda: len(self.shown)
        outcome = self.run_cell("display(1)\nplt.plot([1])\nplt.title('t')")
        self.assertEqual((outcome["end_seq"], len(self.shown)), (1, 2))
        self.assertNotIn("end_seq", self.run_cell("1"))

    def test_an_empty_figure_is_text(self):
        text = "<Figure size 640x480 with 0 Axes>"
        self.assertEqual(self.value("fig = plt.figure()\nfig.text(0, 0, 'a')\nfig"), text)
        self.assertEqual(self.shown, [{"text/plain": text}])

    def test_figures_have_their_own_look_not_that_of_files(self):
        sizes = []
        for change in ("", "plt.rcParams['savefig.dpi'] = 300\n"):
            self.value("with plt.rc_context():\n    %splt.plot([1])" % change.replace("\n", "\n    "))
            sizes.append(self.shown[-1]["image/png"][16:24])
        self.assertEqual(sizes[0], sizes[1])
        self.value("import io\nplt.figure(facecolor='red').add_subplot()")
        from matplotlib.image import imread

        corner = imread(io.BytesIO(self.shown[-1]["image/png"]))[0, 0]
        self.assertEqual(list(corner[:3]), [1, 0, 0])

    def test_without_interaction_only_show_shows(self):
        self.value("plt.ioff()\nplt.plot([1])")
        self.assertEqual(self.shown, [])
        self.value("plt.show()\nplt.ion()")
        self.assertEqual(len(self.shown), 1)

    def test_other_formats(self):
        self.interpreter.displays.figures.configure("figure_formats", ["svg", "retina"])
        self.value("plt.plot([1])")
        self.assertIn("<svg", self.shown[0]["image/svg+xml"])
        self.assertIn("image/png", self.shown[0])
        with self.assertRaises(ValueError):
            self.interpreter.displays.figures.configure("figure_format", "tiff")

    def test_figures_can_stay_open(self):
        self.interpreter.displays.figures.configure("close_figures", False)
        self.value("plt.plot([1])")
        self.value("plt.plot([2])")
        self.assertEqual((len(self.shown), pyplot.get_fignums()), (1, [1]))

    def test_an_error_still_shows_what_was_drawn(self):
        self.error("plt.plot([1])\n1 / 0", "ZeroDivisionError")
        self.assertEqual(len(self.shown), 1)

    def test_a_figure_that_cannot_be_drawn_is_an_error(self):
        outcome = self.run_cell("plt.figure()\nplt.title('$\\\\bad{$')")
        self.assertEqual((outcome["status"], outcome["error"]["type"]), ("error", "ValueError"))
        self.assertIn("Text(", outcome["result"]["text/plain"])
        self.assertEqual(self.shown, [{"text/plain": "<Figure size 640x480 with 1 Axes>"}])
        self.assertEqual(pyplot.get_fignums(), [])


class WithoutLibrariesTest(CellCase):
    def test_nothing_is_imported(self):
        absent = [name for name in ("pandas", "matplotlib", "numpy") if name not in sys.modules]
        self.value("[1]\n")
        self.assertEqual([name for name in absent if name in sys.modules], [])


if __name__ == "__main__":
    unittest.main()
