"""Searching a context of any form: truthful counts, places and errors."""
import copy
import json
import pickle
import re
import unittest

from tool_case import ToolCase

from cellar_runner.context.toolbox import toolbox
from cellar_runner.values import encoding


class SearchTest(ToolCase):
    def test_the_surroundings_are_the_context_too(self):
        [found] = self.search_context("whale", 4, text="the whale, and more")
        self.assertEqual(found["context"], "the whale, an")
        self.assertEqual((found.context, found.get("context")), (found.text, found.text))
        self.assertNotIn("context", list(found))
        self.assertEqual(found.get("lines", 3), 3)

    def test_a_match_and_its_surroundings(self):
        text = "one\ntwo whales\r\nthree whales\n"
        self.variables["context"] = text
        first, second = self.search_context("whale", window=4)
        self.assertEqual(
            first,
            {
                "match": "whale",
                "start": 8,
                "end": 13,
                "line": 2,
                "text": "two whales\r\nt",
                "where": "",
            },
        )
        self.assertEqual((second.line, second.text), (3, "ree whales\n"))
        self.assertEqual(text[second.start : second.end], second.match)
        self.assertEqual(self.search_context("one", window=0)[0].text, "one")
        self.assertEqual(self.search_context("one")[0].text, text)

    def test_a_text_of_its_own(self):
        self.variables["context"] = "aaa"
        self.assertEqual(self.search_context("b", text="abb").total, 2)
        self.assertEqual(self.search_context("a", text="").total, 0)

    def test_what_is_left_out_is_told(self):
        found = self.search_context("x", window=1, max_results=3, text="x" * 40)
        self.assertEqual((len(found), found.total, found.more), (3, 40, 37))
        self.assertIn("40 matches for 'x', the first 3", repr(found))
        self.assertIn("... 37 more", repr(found))
        documents = ["x", "xx", "y", "xxx"]
        found = self.search_context("x", max_results=2, text=documents)
        self.assertEqual((len(found), found.total, found.more), (2, 6, 4))
        whole = self.search_context("x", max_results=40, text="x" * 40)
        self.assertEqual((len(whole), whole.more), (40, 0))
        self.assertNotIn("more", repr(whole))
        self.assertEqual(len(self.search_context("x", max_results=None, text="x" * 400)), 400)
        none = self.search_context("x", max_results=0, text="xx")
        self.assertEqual((list(none), none.total), ([], 2))

    def test_its_text_is_readable(self):
        found = self.search_context("b+", window=2, text="aabb\r\nabcc")
        self.assertEqual(
            str(found),
            "2 matches for 'b+'\n"
            "[0] line 1, characters 2:4, 'bb'\n"
            "    aabb\n    \n"
            "[1] line 2, characters 7:8, 'b'\n"
            "    \n    abcc",
        )
        self.assertEqual(repr(self.search_context("z", text="a")), "no matches for 'z'")
        self.assertIn("1 match for", repr(self.search_context("a", text="a")))

    def test_its_text_is_bounded(self):
        many = self.search_context("x", max_results=None, text="x" * 20_000)
        self.assertLess(len(repr(many)), 50_000)
        self.assertRegex(repr(many), r"\.\.\. [\d,]+ more in this list$")
        self.assertLess(len(repr(self.search_context("x+", text="x" * 10**6))), 5_000)

    def test_zero_width_matches_end(self):
        found = self.search_context("x*", text="axb")
        self.assertEqual([match.start for match in found if match.match == ""][0], 0)
        self.assertEqual(found.total, len(re.findall("x*", "axb")))
        starts = self.search_context("^", text="a\nb\n")
        self.assertEqual([match.line for match in starts][:2], [1, 2])

    def test_patterns(self):
        text = "Chapter 1\nchapter 2\nChapter 3"
        self.assertEqual(self.search_context("^Chapter", text=text).total, 2)
        self.assertEqual(self.search_context("(?i)^chapter", text=text).total, 3)
        self.assertEqual(self.search_context(re.compile("^Chapter"), text=text).total, 1)
        self.assertEqual(self.search_context(re.escape("a.b("), text="a.b( axb(").total, 1)

    def test_bad_patterns(self):
        for call in (self.search_context, self.count_matches, self.find_line):
            with self.refused(ValueError, "at position 2", "re.escape('ab[c')"):
                call("ab[c", text="")
        with self.refused(ValueError, "bad pattern"):
            self.count_matches("a{99999999999999999999}", "")
        with self.refused(TypeError, "str or a re.compile() of one, not bytes pattern"):
            self.count_matches(re.compile(b"a"), "")
        with self.refused(TypeError, "not list"):
            self.count_matches(["a"], "")

    def test_bad_numbers(self):
        with self.refused(ValueError, "window must not be negative"):
            self.search_context("a", window=-1, text="")
        with self.refused(ValueError, "max_results must not be negative", "None"):
            self.search_context("a", max_results=-1, text="")

    def test_documents(self):
        self.variables["context"] = [
            "no",
            {"title": "a whale", "pages": 17, "tags": ["x", "whale\nwhale"]},
            ("whale",),
        ]
        found = self.search_context("whale", window=3)
        self.assertEqual(
            [(match.where, match.line, match.start) for match in found],
            [
                ("[1]['title']", 1, 2),
                ("[1]['tags'][1]", 1, 0),
                ("[1]['tags'][1]", 2, 6),
                ("[2][0]", 1, 0),
            ],
        )
        for match in found:
            document = eval("context" + match.where, dict(self.variables))
            self.assertEqual(document[match.start : match.end], "whale")
        self.assertIn("[0] in [1]['title'], line 1", repr(found))
        self.assertEqual(self.search_context("^17$")[0].where, "[1]['pages']")
        self.assertEqual(self.search_context("title").total, 0)
        self.assertIn("keys are not", repr(self.search_context("title")))

    def test_other_json_values(self):
        cases = [({}, 0), ([], 0), ({"a": {"b": None}}, 1), (True, 0), ([[["null"]], None], 2)]
        for value, count in cases:
            with self.subTest(value=value):
                self.assertEqual(self.count_matches("null", value), count)
        self.assertEqual(self.count_matches("42", 42), 1)
        self.assertEqual(self.count_matches("true", [True, "true", False]), 2)
        huge = self.count_matches(".+", [1 << 100_000])
        self.assertEqual(huge, 1)

    def test_cycles_and_depth(self):
        cycle = ["a"]
        cycle.append({"again": cycle})
        cycle.append("a")
        self.assertEqual(self.count_matches("a", cycle), 2)
        shared = ["a"]
        self.assertEqual(self.count_matches("a", [shared, shared]), 2)
        deep = "a"
        for _ in range(20_000):
            deep = [deep]
        self.assertEqual(self.count_matches("a", deep), 1)
        while type(deep) is list:
            deep = deep.pop()

    def test_values_without_a_whole_text_are_refused(self):
        with self.refused(TypeError, "bytes at [0]['x']", "decode"):
            self.search_context("a", text=[{"x": b"a"}])
        with self.refused(TypeError, "text of a object", "str"):
            self.search_context("a", text=object())

    def test_matches_are_data(self):
        found = self.search_context("a", max_results=1, text="aa")
        self.assertEqual(json.loads(json.dumps(found))[0]["match"], "a")
        self.assertEqual(encoding.encode(found), [dict(found[0])])
        for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
            self.assertEqual((again, again.total, again[0].line), (found, 2, 1))
        with self.refused(AttributeError, "match, start, end, line, text, where", "'lines'"):
            found[0].lines

    def test_no_context(self):
        calls = {
            "search_context": self.search_context,
            "count_matches": self.count_matches,
            "find_line": self.find_line,
        }
        for name, call in calls.items():
            with self.refused(NameError, name + "()", "`context`"):
                call("a")
        with self.refused(NameError, "count_lines()"):
            self.count_lines()
        with self.refused(NameError, "get_line()"):
            self.get_line(1)
        self.variables["context"] = None
        with self.refused(NameError, "has no context"):
            self.count_lines()
        self.variables["context"] = "now\nthere"
        self.assertEqual(self.count_lines(), 2)

    def test_a_provider_with_an_error_of_its_own(self):
        def absent():
            raise NameError("mine")

        with self.refused(NameError, "mine"):
            toolbox(absent)["count_lines"]()


if __name__ == "__main__":
    unittest.main()
