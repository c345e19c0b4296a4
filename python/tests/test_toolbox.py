"""The functions over a context: their help and how they behave in cells."""
import doctest
import inspect
import json
import re
import unittest

from cell_case import CellCase
from tool_case import ToolCase

from cellar_runner.context.toolbox import toolbox

NAMES = (
    "chunk_text search_context count_matches find_line get_line count_lines "
    "extract_json extract_sections chunk_by_headers"
).split()


class ChunkTextTest(ToolCase):
    def test_chunks(self):
        cases = [
            (("", 4), []),
            (("abcd", 4), ["abcd"]),
            (("abcde", 4), ["abcd", "e"]),
            (("abcdefg", 4, 1), ["abcd", "defg"]),
            (("abcdefgh", 4, 1), ["abcd", "defg", "gh"]),
            (("ab", 4, 3), ["ab"]),
            (("abc", 1, 0), ["a", "b", "c"]),
        ]
        for arguments, expected in cases:
            with self.subTest(arguments=arguments):
                self.assertEqual(self.chunk_text(*arguments), expected)
        self.assertEqual(list(map(len, self.chunk_text("x" * 25_000))), [10_000, 10_000, 5_000])

    def test_every_character_is_there_and_no_chunk_is_overlap_alone(self):
        text = "".join(map(chr, range(100, 137)))
        for size in range(1, 12):
            for overlap in range(size):
                for length in range(len(text)):
                    chunks = self.chunk_text(text[:length], size, overlap)
                    fresh = chunks[:1] + [chunk[overlap:] for chunk in chunks[1:]]
                    self.assertEqual("".join(fresh), text[:length])
                    self.assertTrue(all(fresh), (size, overlap, length))

    def test_characters_are_not_torn(self):
        text = "\U0001f600\ud800\0\r\n"
        self.assertEqual(self.chunk_text(text, 1), list(text))

    def test_wrong_sizes_say_what_to_do(self):
        with self.refused(ValueError, "less than size", "smaller overlap, such as 1"):
            self.chunk_text("abc", 10, 10)
        with self.refused(ValueError, "less than size"):
            self.chunk_text("abc", 10, 11)
        for size in (0, -1):
            with self.refused(ValueError, "size must be at least 1"):
                self.chunk_text("abc", size)
        with self.refused(ValueError, "overlap must not be negative", "use 0"):
            self.chunk_text("abc", 10, -1)
        with self.refused(TypeError, "size must be a whole number, not float", "//"):
            self.chunk_text("abc", 10 / 2)

    def test_other_values_are_refused(self):
        with self.refused(TypeError, "reads one str, not list", "loop over them"):
            self.chunk_text(["abc"])
        with self.refused(TypeError, "not bytes", "decode"):
            self.chunk_text(b"abc")

    def test_a_large_text_with_overlap(self):
        text = "0123456789" * 1_000_000
        chunks = self.chunk_text(text, 1_000, 10)
        self.assertEqual(len(chunks), 10_101)
        self.assertEqual(chunks[0] + "".join(chunk[10:] for chunk in chunks[1:]), text)


class LineTest(ToolCase):
    def test_count_lines(self):
        cases = {"": 0, "a": 1, "a\n": 1, "\n": 1, "a\nb": 2, "a\r\nb\r\n": 2, "\n\n": 2, "a\rb": 1}
        for text, count in cases.items():
            with self.subTest(text=text):
                self.assertEqual(self.count_lines(text), count)
        self.assertEqual(self.count_lines(["a\nb", {"c": "d\n"}]), 3)

    def test_get_line(self):
        text = "one\r\n\ntwo\u2028\x0b\x85\nlast\r"
        expected = ["one", "", "two\u2028\x0b\x85", "last\r"]
        self.assertEqual([self.get_line(number, text) for number in range(1, 5)], expected)
        self.assertEqual(self.count_lines(text), 4)

    def test_missing_lines(self):
        for text, count in {"": 0, "a": 1, "a\n": 1, "a\nb\n": 2}.items():
            with self.refused(IndexError, "no line 3", "has {}".format(count)):
                self.get_line(3, text)
            with self.refused(IndexError, "no line {}".format(count + 1)):
                self.get_line(count + 1, text)
        for number in (0, -1):
            with self.refused(IndexError, "first line is line 1"):
                self.get_line(number, "a")
        with self.refused(TypeError, "number must be a whole number, not str"):
            self.get_line("1", "a")
        with self.refused(TypeError, "get_line() reads one str, not list", "one of its texts"):
            self.get_line(1, ["a"])

    def test_far_lines(self):
        text = "".join("{}\n".format(number) for number in range(1, 60_001))
        for number in (1, 2, 12_000, 13_000, 59_999, 60_000):
            self.assertEqual(self.get_line(number, text), str(number))
        with self.refused(IndexError, "has 60,000"):
            self.get_line(60_001, text)
        empty = "\n" * 200_000
        self.assertEqual(self.get_line(200_000, empty), "")
        with self.refused(IndexError, "has 200,000"):
            self.get_line(200_001, empty)

    def test_find_line(self):
        text = "apple\r\nbanana\r\n\r\ncherry pie"
        self.assertEqual(self.find_line("an", text), [(2, "banana")])
        self.assertEqual(self.find_line("e$", text), [(1, "apple"), (4, "cherry pie")])
        self.assertEqual(self.find_line("^$", text), [(3, "")])
        self.assertEqual(self.find_line(r"a\s*c", text), [])
        self.assertEqual(self.find_line(r"\Ac", text), [(4, "cherry pie")])
        for number, line in self.find_line("", text):
            self.assertEqual(self.get_line(number, text), line)
        self.assertEqual(self.find_line("x", ""), [])

    def test_find_line_in_documents(self):
        found = self.find_line("b", ["a\nb", {"t": "b"}])
        self.assertEqual(found, [(2, "b"), (1, "b")])
        self.assertEqual([line.where for line in found], ["[0]", "[1]['t']"])
        self.assertEqual(repr(found), "[(2, 'b') in [0], (1, 'b') in [1]['t']]")

    def test_count_matches(self):
        self.assertEqual(self.count_matches("aa", "aaaa"), 2)
        self.assertEqual(self.count_matches("^", "a\nb"), 2)
        self.assertEqual(self.count_matches("a", ["a", {"b": "aa"}]), 3)


class PresentationTest(CellCase):
    def setUp(self):
        super().setUp()
        namespace = self.interpreter.namespace
        self.tools = toolbox(lambda: namespace["context"])
        namespace.update(self.tools)

    def test_names_and_signatures(self):
        self.assertEqual(list(self.tools), NAMES)
        signatures = {
            "chunk_text": "(text, size=10000, overlap=0)",
            "search_context": "(pattern, window=200, max_results=100, text=None)",
            "count_matches": "(pattern, text=None)",
            "find_line": "(pattern, text=None)",
            "get_line": "(number, text=None)",
            "count_lines": "(text=None)",
            "extract_json": "(text)",
            "extract_sections": "(text=None, level=6)",
            "chunk_by_headers": "(text=None, level=6, max_size=None)",
        }
        found = {name: str(inspect.signature(tool)) for name, tool in self.tools.items()}
        self.assertEqual(found, signatures)

    def test_help_shows_what_is_documented(self):
        for name, tool in self.tools.items():
            with self.subTest(name=name):
                shown = self.printed("help({})".format(name))
                self.assertIn("function {} in module cellar_runner.".format(name), shown)
                self.assertIn("\n{}{}\n".format(name, inspect.signature(tool)), shown)
                for line in inspect.getdoc(tool).splitlines():
                    self.assertIn(line.rstrip(), shown)
                self.assertNotIn("<locals>", self.value(name))

    def test_the_examples_are_true(self):
        runner = doctest.DocTestRunner(verbose=False)
        parser = doctest.DocTestParser()
        for name, tool in self.tools.items():
            with self.subTest(name=name):
                example = parser.get_doctest(tool.__doc__, dict(self.tools), name, None, None)
                self.assertTrue(example.examples)
                output = []
                runner.run(example, out=output.append)
                self.assertEqual("".join(output), "")

    def test_in_a_cell(self):
        self.error("search_context('a')", "NameError")
        self.value("context = 'one\\ntwo'")
        self.assertIn("1 match for 'two'", self.value("search_context('two')"))
        self.assertIn("line 2", self.printed("print(search_context('two'))"))
        self.assertEqual(self.value("find_line('o')"), "[(1, 'one'), (2, 'two')]")
        error = self.error("get_line(3)", "IndexError")
        self.assertIn("get_line(3)", error["traceback"])
        self.assertNotIn("toolbox.py", error["traceback"])

    def test_replaced_builtins_do_no_harm(self):
        names = "len range max min sum list str int enumerate zip any isinstance type iter"
        self.value("import builtins, json, re\nkept = dict(vars(builtins))")
        self.value("context = 'a\\n# b'\na, b = re.compile('a'), re.compile('b')")
        code = "for name in '{}'.split(): setattr(builtins, name, None)\n".format(names)
        code += (
            "re.compile = json.loads = None\n"
            "try:\n"
            "    got = (search_context(b)[0].line, count_lines(), get_line(2), find_line(a),\n"
            "        chunk_text('abc', 2), extract_json('x {\"a\": 1}'), count_matches(a),\n"
            "        extract_sections(context)[1].title, chunk_by_headers(context, max_size=2))\n"
            "finally:\n"
            "    vars(builtins).update(kept)\n"
        )
        kept = re.compile, json.loads
        try:
            self.value(code)
        finally:
            re.compile, json.loads = kept
        expected = (
            "(2, 2, '# b', [(1, 'a')], ['ab', 'c'], {'a': 1}, 1, 'b', ['a\\n', '# ', 'b'])"
        )
        self.assertEqual(self.value("got"), expected)


if __name__ == "__main__":
    unittest.main()
