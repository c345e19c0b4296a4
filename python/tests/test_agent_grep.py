"""grep(): what it finds, what it says about what it leaves out, and which engine it takes."""
import os
import pickle
import random
import re
import threading
import unittest

from agent_case import RIPGREP, AgentCase

from cellar_runner.agent.search import python_re, regex_syntax, source
from cellar_runner.agent.search.grep import PatternError

NEEDS_RIPGREP = unittest.skipUnless(RIPGREP, "ripgrep is not installed")
LOG = "start\nerror: disk full\nretry\nerror: network\nok\nend\n"


class SharedCases:
    """What holds with every engine."""

    def places(self, found):
        return [(hit.line, str(hit)) for hit in found]

    def test_lines_with_what_stands_around_them(self):
        self.give(LOG)
        found = self.grep("DISK", context_lines=1)
        self.assertEqual(found, ["error: disk full"])
        self.assertEqual((found[0].line, found[0].before, found[0].after), (2, ["start"], ["retry"]))
        self.assertEqual((found.total, found.more), (1, 0))
        shown = "1 matching line for 'DISK' in context"
        self.assertEqual(repr(found).split("\n")[0], shown)
        self.assertEqual(repr(found).split("\n")[-3:], ["1-start", "2:error: disk full", "3-retry"])

    def test_neighbours_are_shown_once(self):
        self.give(LOG)
        rows = repr(self.grep("error", context_lines=1)).split("\n")[-5:]
        expected = ["1-start", "2:error: disk full", "3-retry", "4:error: network", "5-ok"]
        self.assertEqual(rows, expected)
        rows = repr(self.grep("start|end", context_lines=1)).split("\n")[-5:]
        self.assertEqual(rows, ["1:start", "2-error: disk full", "--", "5-ok", "6:end"])

    def test_the_case_of_letters(self):
        self.give("Whale\nwhale")
        self.assertEqual(len(self.grep("WHALE")), 2)
        self.assertEqual(self.grep("Whale", ignore_case=False), ["Whale"])
        self.assertEqual(self.grep("(?-i)whale"), ["whale"])

    def test_the_rest_is_counted(self):
        self.add_tools(max_grep_results=3)
        for count in (0, 2, 3, 4, 250):
            self.give("hit\nmiss\n" * count)
            found = self.grep("hit", context_lines=0)
            with self.subTest(count=count):
                self.assertEqual((found.total, found.more), (count, max(0, count - 3)))
                self.assertEqual(len(found), min(3, count))
                more = "\u2026 {} more matching line{}: narrow the pattern"
                more = more.format(count - 3, "" if count == 4 else "s")
                self.assertEqual(count > 3, more in repr(found))

    def test_a_byte_order_mark_shifts_nothing(self):
        text = "\ufeffhello\nworld \xe9 hello\nhello\n"
        self.give(text)
        expected = [(1, "\ufeffhello"), (2, "world \xe9 hello"), (3, "hello")]
        self.assertEqual(self.places(self.grep("hello")), expected)
        self.assertEqual(self.grep("world", context_lines=0), ["world \xe9 hello"])
        path = self.write("marked.txt", text)
        self.assertEqual(self.grep("world", file=path, context_lines=0), ["world \xe9 hello"])

    def test_several_matches_in_a_line_are_one(self):
        self.give("a a a a\nb")
        self.assertEqual(self.grep("a").total, 1)

    def test_characters_of_all_kinds(self):
        text = "aé😀b needle\nxx\r\n\nnä needle\ud800\0\x0b\u2028x\nlast"
        self.give(text)
        self.assertEqual(self.places(self.grep("needle", context_lines=0))[0], (1, "aé😀b needle"))
        self.assertEqual(self.grep("needle")[1], "nä needle\ud800\0\x0b\u2028x")
        self.assertEqual(self.places(self.grep("x$")), [(2, "xx"), (4, str(self.grep("needle")[1]))])
        self.assertEqual([hit.line for hit in self.grep("^$")], [3])
        self.assertEqual(self.grep("Ä"), self.grep("ä"))

    def test_the_end_of_the_text_is_no_line(self):
        for text, after in (("a\nb", ["b"]), ("a\nb\n", ["b"]), ("a\n", []), ("a", []), ("a\n\n", [""])):
            self.give(text)
            with self.subTest(text=text):
                self.assertEqual(self.grep("a")[0].after, after)

    def test_long_lines_are_cut_around_the_match(self):
        self.give("a\n" + "x" * 700_000 + "needle" + "y" * 700_000 + "\n" + "z" * 600)
        [hit] = self.grep("needle")
        self.assertTrue(hit.startswith("\u2026x") and hit.endswith("y\u2026"), hit)
        self.assertIn("needle", hit)
        self.assertEqual(len(hit), 502)
        self.assertEqual((hit.before, hit.after), (["a"], ["z" * 500 + "\u2026"]))
        path = self.write("long", self.variables["context"])
        [again] = self.grep("needle", path)
        self.assertEqual((again, again.before, again.after), (hit, hit.before, hit.after))

    def test_values_in_lists_and_dicts(self):
        self.give([{"title": "one\ntwo", "n": 12}, "", ["two", "three\n"], 2])
        found = self.grep("two|2|three", context_lines=1)
        expected = [("[0]['title']", 2), ("[0]['n']", 1), ("[2][0]", 1), ("[2][1]", 1), ("[3]", 1)]
        self.assertEqual([(hit.where, hit.line) for hit in found], expected)
        self.assertEqual((found[0].before, found[0].after), (["one"], []))
        self.assertIn("in [2][0]:\n1:two", repr(found))

    def test_random_texts_agree_with_python(self):
        dice = random.Random(5)
        for _ in range(25):
            parts = dice.choices(["a", "b", "é", "\n", "\r\n", "😀", " ", "needle"], k=dice.randint(0, 60))
            self.give("".join(parts))
            pattern = dice.choice(["needle", "a.b", "^[aé]+", "b$", "é😀", r"\bneedle\b"])
            lines = self.variables["context"].replace("\r\n", "\n").split("\n")
            expected = [number for number, line in enumerate(lines, 1) if re.search(pattern, line)]
            found = self.grep(pattern, ignore_case=False)
            self.assertEqual([hit.line for hit in found], expected, (pattern, parts))

    def test_files(self):
        path = self.write("log.txt", LOG)
        found = self.grep("error", file=path)
        self.assertEqual(self.places(found), [(2, "error: disk full"), (4, "error: network")])
        self.assertIn("in " + path, repr(found))
        self.assertEqual(self.grep("error", path, 0)[0].after, [])
        self.assertEqual(self.grep("é", self.write("latin", b"caf\xe9\n")), [])
        self.assertEqual(self.grep("caf", self.write("latin", b"caf\xe9\n")), ["caf\ufffd"])
        self.assertEqual(self.grep("ä", self.write("wide", "ä\nb".encode("utf-16"))), ["ä"])
        self.assertEqual(self.grep("b", self.write("nul", b"a\0b\nc")), ["a\0b"])
        self.assertEqual(self.grep("b", self.write("empty", b"")), [])
        self.assertEqual(self.grep("^VmRSS", "/proc/self/status").total, 1)

    def test_a_file_with_many_matches(self):
        self.add_tools(max_grep_results=5)
        path = self.write("many", "".join("line {} é\n".format(number) for number in range(1000)))
        found = self.grep("line", path)
        self.assertEqual((found.total, len(found), found[4].line), (1000, 5, 5))
        self.assertEqual(found[4].after, ["line 5 é", "line 6 é"])

    def test_bad_patterns_say_where(self):
        self.give("abc")
        for pattern, position in (("ab(c", 2), ("a[", 1), ("*a", 0), ("é(", 1), ("a)", 1)):
            with self.subTest(pattern=pattern):
                with self.refused(PatternError, "position {}".format(position)) as raised:
                    self.grep(pattern)
                self.assertEqual(raised.exception.position, position)
        self.assertTrue(issubclass(PatternError, ValueError))
        with self.refused(PatternError, "empty", "peek()"):
            self.grep("")
        with self.refused(PatternError, "at most 100,000"):
            self.grep("a" * 1_000_000)
        with self.refused(PatternError, "position 1"):
            self.grep("a\0")
        with self.refused(PatternError, "surrogate"):
            self.grep("\ud800")

    def test_wrong_arguments_say_what_is_right(self):
        self.give("abc")
        path = self.write("notes.txt", "error")
        with self.refused(ValueError, "pattern comes first", "grep('error', file="):
            self.grep(path, "error")
        with self.refused(TypeError, "pattern must be a str, not bytes"):
            self.grep(b"abc")
        with self.refused(TypeError, "context_lines must be a whole number"):
            self.grep("a", context_lines="2")
        for number in (-1, 21, 10**30):
            with self.refused(ValueError, "from 0 to 20"):
                self.grep("a", context_lines=number)
        with self.refused(FileNotFoundError, "did you mean 'notes.txt'"):
            self.grep("error", file=self.folder + "/note.txt")
        with self.refused(IsADirectoryError, "list_dir("):
            self.grep("error", file=self.folder)
        with self.refused(ValueError, "search_context("):
            self.grep("error", file="a text\nof lines")
        self.variables.clear()
        with self.refused(NameError, "there is no context"):
            self.grep("a")

    def test_what_is_no_file(self):
        os.mkfifo(self.folder + "/pipe")
        os.symlink("loop", self.folder + "/loop")
        for path, kind, text in (("/pipe", ValueError, "is a pipe"), ("/loop", OSError, "cannot read")):
            with self.refused(kind, text):
                self.grep("a", file=self.folder + path)
        with self.refused(ValueError, "is a device"):
            self.grep("a", file="/dev/zero")

    def test_lookaround_and_backreferences(self):
        self.give("foobar\nfoobaz\nbar bar\n")
        for pattern, lines in ((r"foo(?!bar)", [2]), (r"(?<=foo)ba", [1, 2]), (r"(\w+) \1", [3])):
            found = self.grep(pattern)
            with self.subTest(pattern=pattern):
                self.assertEqual([hit.line for hit in found], lines)
                self.assertIn("Python's re", found.note)
                self.assertIn(found.note, repr(found))
        self.assertEqual(self.grep(r"(?P<w>bar) (?P=w)"), ["bar bar"])
        self.assertEqual(self.grep(r"(?<w>bar) (?P=w)"), ["bar bar"])
        self.assertEqual(self.grep(r"foo(?!bar)", self.write("f", "foobar\r\nfoo\r\n")), ["foo"])
        with self.refused(PatternError, "bad pattern"):
            self.grep(r"(?<=a+)b")

    @unittest.skipUnless(python_re.CAN_STOP, "a search cannot be ended here")
    def test_a_pattern_that_takes_too_long_is_ended(self):
        self.add_tools(slow_seconds=0.3)
        self.give("a" * 60 + "b")
        with self.refused(TimeoutError, "stopped after 0.3 seconds", "without"):
            self.grep(r"(?=a)(a+)+$")
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_threads_at_once(self):
        self.give("".join("line {}\n".format(number) for number in range(20_000)))
        found = {}

        def look(number):
            found[number] = [hit.line for hit in self.grep("line {}$".format(number))]

        threads = [threading.Thread(target=look, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {number: [number + 1] for number in range(8)})
        self.assertEqual(len({call["id"] for call in self.calls()}), 8)

    def test_no_descriptor_or_process_is_left(self):
        self.give("abc\n" * 1000)
        before = set(os.listdir("/proc/self/fd"))
        for pattern in ("b", "x", "(", "b(?=c)"):
            try:
                self.grep(pattern)
            except PatternError:
                continue
        self.assertEqual(set(os.listdir("/proc/self/fd")), before)
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_results_can_be_kept(self):
        self.give(LOG)
        found = self.grep("error")
        again = pickle.loads(pickle.dumps(found))
        self.assertEqual(repr(again), repr(found))
        self.assertEqual((again[1].line, again[1].before), (4, found[1].before))


@NEEDS_RIPGREP
class RipgrepTest(SharedCases, AgentCase):
    def test_its_own_syntax(self):
        self.give("straße 12\nfoo\n")
        self.assertEqual(self.grep(r"\p{L}+ \d"), ["straße 12"])
        self.assertEqual(self.grep("[[:alpha:]&&[^f]]oo"), [])
        self.assertEqual(self.grep(r"(?<name>fo+)"), ["foo"])
        self.assertEqual(self.grep("foo").note, "")

    def test_no_pattern_takes_for_ever(self):
        self.give("a" * 100_000 + "!")
        self.assertEqual(self.grep("(a+)+b").total, 0)
        self.assertEqual(self.grep("(a*)*$").note, "")

    def test_line_breaks_in_patterns(self):
        self.give("a\nb")
        with self.refused(PatternError, "search_context()"):
            self.grep("a\nb")

    def test_a_text_larger_than_its_pieces(self):
        usual, source.PIECE = source.PIECE, 1000
        self.addCleanup(setattr, source, "PIECE", usual)
        lines = ["{} é😀 {}".format(number, "x" * (number % 90)) for number in range(3000)]
        self.give("\n".join(lines))
        self.add_tools(max_grep_results=50)
        found = self.grep("7 é", context_lines=1)
        expected = [number for number in range(3000) if number % 10 == 7]
        self.assertEqual((found.total, len(found)), (300, 50))
        self.assertEqual([hit.line - 1 for hit in found], expected[:50])
        self.assertEqual([str(hit) for hit in found], [lines[number] for number in expected[:50]])
        self.assertEqual(found[49].before, [lines[expected[49] - 1]])

    def test_a_line_that_is_too_long_is_searched_in_parts(self):
        for name, value in (("PIECE", 1000), ("LONGEST_LINE", 3000)):
            self.addCleanup(setattr, source, name, getattr(source, name))
            setattr(source, name, value)
        self.give("first\n" + "x" * 20_000 + "needle" + "y" * 20_000 + "\nlast needle")
        found = self.grep("needle", context_lines=0)
        self.assertEqual([hit.line for hit in found], [2, 3])
        self.assertIn("xneedley", found[0])
        self.assertIn("searched in parts", found.note)

    def test_a_program_that_is_gone(self):
        self.add_tools(ripgrep=self.folder + "/rg")
        self.give("a")
        with self.refused(RuntimeError, "cannot be started"):
            self.grep("a")

    def test_a_program_that_is_killed(self):
        path = self.write("rg", "#!/bin/sh\nkill -9 $$\n")
        os.chmod(path, 0o755)
        self.add_tools(ripgrep=path)
        self.give("a")
        with self.refused(RuntimeError, "killed by signal 9"):
            self.grep("a")

    def test_its_settings_and_surroundings_do_not_count(self):
        config = self.write("config", "--invert-match\n")
        os.environ["RIPGREP_CONFIG_PATH"] = config
        self.addCleanup(os.environ.pop, "RIPGREP_CONFIG_PATH")
        self.give(LOG)
        self.assertEqual(self.grep("disk"), ["error: disk full"])
        self.assertEqual(self.grep("--version"), [])
        self.assertEqual(self.grep("disk", self.write("-v", "disk\n")), ["disk"])


@NEEDS_RIPGREP
class FileBackedTest(SharedCases, AgentCase):
    """A context of ASCII whose bytes are in a file too, after a line that does not count."""

    def add_tools(self, **options):
        super().add_tools(**options)
        self.descriptors = []
        self.agent._context_file = self.file_of

    def file_of(self, context):
        if type(context) is not str or not context.isascii():
            return None
        lead = b"needle \0 error disk a\n"
        path = self.write("backing {}".format(threading.get_ident()), lead + context.encode("ascii"))
        descriptor = os.open(path, os.O_RDONLY)
        self.descriptors.append(descriptor)
        self.addCleanup(os.close, descriptor)
        return descriptor, len(lead)

    def test_no_descriptor_or_process_is_left(self):
        self.give("abc\n" * 1000)
        self.grep("b")
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_a_file_that_cannot_be_read(self):
        self.agent._context_file = lambda context: (100_000, 5)
        self.give(LOG)
        self.assertEqual(self.grep("disk"), ["error: disk full"])
        self.assertEqual(self.grep("disk").note, "")


class WithoutRipgrepTest(SharedCases, AgentCase):
    def add_tools(self, **options):
        super().add_tools(**options)
        self.agent._search._ripgrep = None

    def test_it_says_so(self):
        self.give(LOG)
        self.assertIn("ripgrep is not available", repr(self.grep("disk")))

    def test_what_python_does_not_know(self):
        self.give("abc")
        with self.refused(PatternError, "works only with ripgrep", "position 1"):
            self.grep(r"a\p{L}")

    def test_where_nothing_can_be_stopped(self):
        usual, python_re.CAN_STOP = python_re.CAN_STOP, False
        self.addCleanup(setattr, python_re, "CAN_STOP", usual)
        self.give(LOG)
        found = self.grep("disk")
        self.assertEqual(found, ["error: disk full"])
        self.assertIn("time limit", found.note)


class DialectTest(unittest.TestCase):
    def test_translations(self):
        cases = {
            "abc": "abc",
            r"a\z": r"a\Z",
            r"\x{1F600}": "\U0001f600",
            r"\x{28}": r"\(",
            "(?<n>a)": "(?P<n>a)",
            "(?<=n)a": "(?<=n)a",
            "(?i)a": "(?i:a)",
            "a(?i)b|c": "a(?i:b|c)",
            "(a(?i)b)c": "(a(?i:b))c",
            "(?u-i)a": "(?-i:a)",
            "(?s-u:.)": "(?s:.)",
            "[[:alpha:]_]": "[A-Za-z_]",
            "[]a]": r"[\]a]",
            "[^]a]": r"[^\]a]",
            r"\(?i)": r"\(?i)",
        }
        for pattern, expected in cases.items():
            with self.subTest(pattern=pattern):
                self.assertEqual(regex_syntax.translated(pattern), expected)

    def test_what_has_no_translation(self):
        for pattern in (r"\p{L}", r"[a\P{L}]", "[a[b]]", "[a&&b]", "[a--b]"):
            with self.assertRaises(regex_syntax.Untranslatable):
                regex_syntax.translated(pattern)


if __name__ == "__main__":
    unittest.main()
