"""get_ipython() and IPython's modules: the installed one's, or the runner's own."""
import subprocess
import sys
import unittest
from importlib.machinery import PathFinder
from pathlib import Path

from cell_case import CellCase

HAS_IPYTHON = PathFinder.find_spec("IPython") is not None


class ShellTest(CellCase):
    def setUp(self):
        super().setUp()
        self.value("ip = get_ipython()")

    def test_looks_like_a_kernels(self):
        self.assertEqual(self.value("type(ip).__name__, type(ip).__module__"), repr(
            ("ZMQInteractiveShell", "ipykernel.zmqshell")
        ))
        self.assertEqual(self.value("'IPKernelApp' in ip.config"), "True")
        self.assertEqual(self.value("import sys\n'IPython' in sys.modules"), "True")
        self.assertEqual(self.value("'ipykernel.zmqshell' in sys.modules"), "True")
        self.assertEqual(self.value("sys.modules['IPython'].get_ipython() is ip"), "True")
        self.assertEqual(self.value("ip.user_ns is globals() and ip.execution_count"), "7")

    def test_a_library_finds_it_without_loading_it(self):
        code = "import IPython, importlib.util\nimportlib.util.find_spec('IPython') is not None"
        before = {name for name in sys.modules if name.startswith("IPython")}
        self.assertEqual(self.value(code), "True")
        self.value("import inspect\ninspect.getmodule(len)\nIPython.get_ipython()")
        self.assertEqual({name for name in sys.modules if name.startswith("IPython")}, before)

    def test_variables(self):
        self.assertEqual(self.value("ip.push({'a': 1})\nip.ex('b = a + 1')\nip.ev('b'), b"), "(2, 2)")
        self.assertEqual(self.value("def f():\n    c = 9\n    ip.push('c')\nf()\nc"), "9")
        self.error("ip.drop_by_id({'a': a})\na", "NameError")

    def test_a_cell_within_a_cell(self):
        self.assertEqual(self.value("r = ip.run_cell('z = 3\\nz')\nr.result, r.success, z"), "(3, True, 3)")
        self.assertEqual((self.shown, self.roles), ([{"text/plain": "3"}], [{"role": "result"}]))
        self.stdout.truncate(0)
        error = self.error("r = ip.run_cell('1/0')\nprint('on', r.success)", "ZeroDivisionError")
        self.assertIn("cell", error["traceback"])
        self.assertIn("on False", self.stdout.getvalue())
        self.error("assert ip.run_cell('1 +').error_before_exec is not None", "SyntaxError")

    def test_functions_around_a_cell(self):
        self.value(
            "told = []\n"
            "def before(): told.append('before')\n"
            "def after(result): told.append(result.info.raw_cell)\n"
            "ip.events.register('pre_execute', before)\n"
            "ip.events.register('post_run_cell', after)"
        )
        self.value("told.clear()")
        self.assertEqual(self.value("told"), "['told.clear()', 'before']")
        self.value("ip.events.unregister('post_run_cell', after)")
        self.error("ip.events.unregister('post_run_cell', after)", "ValueError")
        self.error("ip.events.register('no such event', after)", "KeyError")
        self.value("def bad(): 1/0\nip.events.register('pre_execute', bad)")
        self.error("2", "ZeroDivisionError")

    def test_what_a_cell_puts_in_the_place_of_its_parts_does_not_stop_later_cells(self):
        stopping = "def stop(*a): raise KeyboardInterrupt\nip.events.register('pre_run_cell', stop)"
        self.value(stopping)
        outcome = self.run_cell("a = 1\nip.events.unregister('pre_run_cell', stop)")
        self.assertEqual((outcome["status"], outcome["error"]["type"]), ("error", "KeyboardInterrupt"))
        self.assertEqual(self.value("a"), "1")
        for broken in ("ip.events = None", "ip.events.callbacks = None"):
            self.error(broken, "AttributeError" if broken.endswith("events = None") else "TypeError")
            self.assertEqual(self.value("a"), "1")
        self.value("ip.before_next = None")
        self.assertEqual(self.value("a"), "1")
        endless = "class Endless(list):\n    def __bool__(self): return True\n"
        self.value(endless + "    def pop(self, *a): return int\nip.before_next = Endless()")
        self.assertEqual(self.value("a"), "1")

    def test_functions_for_types(self):
        self.value(
            "class A: pass\n"
            "class B(A):\n    def _repr_html_(self): return 'own'\n"
            "formatters = ip.display_formatter.formatters\n"
            "formatters['text/html'].for_type(A, lambda a: 'for ' + type(a).__name__)\n"
            "formatters['text/plain'].for_type(A, lambda a, p, cycle: p.text('plain'))\n"
            "formatters['text/html'].for_type_by_name('__main__', 'C', lambda c: 'deferred')\n"
            "class C: pass"
        )
        self.assertEqual(self.run_cell("B()")["result"], {"text/plain": "plain", "text/html": "for B"})
        self.assertEqual(self.run_cell("C()")["result"]["text/html"], "deferred")
        self.value("formatters['text/html'].pop(A)")
        self.assertEqual(self.run_cell("B()")["result"]["text/html"], "own")
        self.assertEqual(self.run_cell("5")["result"], {"text/plain": "5"})
        self.value("formatters['text/html'].for_type(int, lambda n: '<b>%d</b>' % n)")
        self.assertEqual(self.run_cell("5")["result"], {"text/plain": "5", "text/html": "<b>5</b>"})
        self.assertEqual(self.value("sorted(ip.display_formatter.format(5)[0])"), "['text/html', 'text/plain']")
        self.value("ip.display_formatter.active_types = ['text/plain']")
        self.assertEqual(self.run_cell("5")["result"], {"text/plain": "5"})

    def test_other_values_than_the_last(self):
        self.value("ip.ast_node_interactivity = 'all'")
        self.assertEqual(self.value("1\nx = 2\nx\n3"), "3")
        self.assertEqual(self.shown, [{"text/plain": "1"}, {"text/plain": "2"}])
        self.value("ip.ast_node_interactivity = 'last_expr_or_assign'")
        self.assertEqual(self.value("y = 5"), "5")
        self.value("ip.ast_node_interactivity = 'none'")
        self.assertIsNone(self.value("y"))

    def test_displays_have_ids(self):
        self.value("h = display(1, display_id='a')\nh.update(2)\nh.display(3)")
        self.assertEqual(self.shown, [{"text/plain": text} for text in "123"])
        known = {"display_id": "a"}
        self.assertEqual(self.roles, [known, dict(known, role="update"), known])
        self.assertEqual(len(self.value("display(display_id=True).display_id")), 34)
        self.value("display(1, display_id='x' * 1000)")
        self.assertEqual(len(self.roles[-1]["display_id"]), 200)
        self.error("display(1, update=True)", "TypeError")

    def test_outputs_are_taken_back(self):
        self.value("ip.display_pub.clear_output()\nip.display_pub.clear_output(wait=True)")
        self.assertEqual(self.cleared, [False, True])


@unittest.skipUnless(HAS_IPYTHON, "IPython is not installed")
class InstalledTest(CellCase):
    def test_its_display_is_the_sessions(self):
        self.value(
            "from IPython.display import display, HTML, Markdown, clear_output, update_display\n"
            "display(HTML('<b>x</b>'))\n"
            "display(Markdown('m'), display_id='a')\n"
            "update_display(1, display_id='a')\n"
            "clear_output(wait=True)"
        )
        self.assertEqual(self.shown[0]["text/html"], "<b>x</b>")
        self.assertEqual(self.shown[1]["text/markdown"], "m")
        self.assertEqual(self.roles[2], {"display_id": "a", "role": "update"})
        self.assertEqual((self.cleared, self.stdout.getvalue()), ([True], ""))

    def test_it_finds_the_shell_running(self):
        code = (
            "import IPython\nfrom IPython.core.interactiveshell import InteractiveShell as S\n"
            "ip = get_ipython()\n"
            "IPython.get_ipython() is ip, S.initialized(), S.instance() is ip, isinstance(ip, S)"
        )
        self.assertEqual(self.value(code), "(True, True, True, True)")

    def test_its_magics_and_captures(self):
        self.value(
            "from IPython.core.magic import Magics, magics_class, line_magic, register_line_magic\n"
            "known = []\n"
            "get_ipython()._interpreter.commands.register = lambda *given: known.append(given[::2])\n"
            "@register_line_magic\ndef one(line): pass\n"
            "@magics_class\nclass M(Magics):\n    @line_magic\n    def two(self, line): pass\n"
            "get_ipython().register_magics(M, M(get_ipython()))"
        )
        self.assertEqual(self.value("known"), repr([("line", "one"), ("line", "two"), ("line", "two")]))
        code = (
            "from IPython.utils.capture import capture_output\n"
            "with capture_output() as c:\n    print('x')\n    display(3)\n"
            "c.stdout, len(c.outputs)"
        )
        self.assertEqual(self.value(code), repr(("x\n", 1)))
        self.assertEqual(self.shown, [])


WITHOUT = r"""
import sys
sys.path.insert(0, sys.argv[1])
from cellar_runner.cells.interpreter import Interpreter
shown = []
it = Interpreter(lambda data, metadata, about=None: shown.append((data, about)))
number = 0
def run(code):
    global number
    number += 1
    outcome = it.run(number, code)
    assert outcome["status"] == "ok", outcome["error"]
    return outcome["result"]
def forms(code):
    before = len(shown)
    result = dict(run(code) or {})
    for data, about in shown[before:]:
        result.update(data)
    return sorted(result)
names = "HTML Markdown Latex Math SVG Javascript Pretty Code"
run("import sys; assert not [n for n in sys.modules if n.startswith('IPython.')]")
run("from IPython.display import *")
run("from IPython.display import (display, HTML, Image, Markdown, JSON, SVG, Latex, Math, Javascript,"
    " Code, FileLink, FileLinks, IFrame, Audio, Video, Pretty, ProgressBar, DisplayHandle, clear_output,"
    " update_display, display_html, display_png, publish_display_data, YouTubeVideo, GeoJSON)")
assert forms("HTML('<b>x</b>')") == ["text/html", "text/plain"]
assert run("HTML('x')")["text/plain"] == "<IPython.core.display.HTML object>"
assert forms("display(Markdown('m'))") == ["text/markdown", "text/plain"]
assert run("Math('x')")["text/latex"] == "$\\displaystyle x$"
assert forms("SVG('<svg></svg>')") == ["image/svg+xml", "text/plain"]
assert run("Pretty('hello')")["text/plain"] == "hello"
assert run("JSON({'a': 1})")["application/json"] == '{"a": 1}'
assert forms("Javascript('1')") == ["application/javascript", "text/plain"]
assert forms("Image(data=bytes.fromhex('89504e47'), width=3)") == ["image/png", "text/plain"]
assert shown[-1][0]["image/png"] == bytes.fromhex("89504e47")
assert "<img src=" in run("Image(url='http://x/y.png')")["text/html"]
assert "audio/wav" in run("Audio([0, 1, 0], rate=10)")["text/html"]
assert "iframe" in run("IFrame('http://x', 1, 2)")["text/html"]
assert run("ProgressBar(3)")["text/plain"].endswith("0/3")
run("h = display(1, display_id='a'); update_display(2, display_id='a'); clear_output()")
assert shown[-1] == ({"text/plain": "2"}, {"display_id": "a", "role": "update"})
run("publish_display_data({'text/html': '<i>'})")
assert shown[-1] == ({"text/html": "<i>"}, None)
run("display_html('<u>', raw=True)")
assert shown[-1][0] == {"text/html": "<u>"}
run("import IPython\nassert IPython.get_ipython() is get_ipython() and IPython.__version__")
run("from IPython.core.interactiveshell import InteractiveShell\n"
    "assert InteractiveShell.initialized() and isinstance(get_ipython(), InteractiveShell)")
run("assert IPython.display.HTML is HTML\nfrom IPython.core.display import HTML as H; assert H is HTML")
run("known = []\n"
    "get_ipython()._interpreter.commands.register = lambda *given: known.append(given[::2])\n"
    "from IPython.core.magic import register_cell_magic, Magics, magics_class, line_cell_magic\n"
    "from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring\n"
    "@register_cell_magic\ndef one(line, cell): pass\n"
    "@magics_class\nclass M(Magics):\n    @line_cell_magic\n    def two(self, line, cell=None): pass\n"
    "get_ipython().register_magics(M)\n"
    "@magic_arguments()\n@argument('kind', help='h')\ndef three(line): pass\n"
    "assert parse_argstring(three, 'E').kind == 'E'\n"
    "assert known == [('cell', 'one'), ('line_cell', 'two')], known")
run("from IPython.utils.capture import capture_output\n"
    "with capture_output() as c:\n    print('x'); display(3)\n"
    "assert (c.stdout, len(c.outputs)) == ('x\\n', 1)")
print("all is well")
"""


class AbsentTest(unittest.TestCase):
    def test_a_small_one_is_there(self):
        """In a process that sees no installed packages."""
        folder = str(Path(__file__).resolve().parent.parent)
        command = [sys.executable, "-I", "-S", "-c", WITHOUT, folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.stdout, "all is well\n")


if __name__ == "__main__":
    unittest.main()
