"""Markdown by its headings: what is one, what is none, and that no text is lost."""
import json
import pickle
import unittest

from tool_case import ToolCase


class SectionTest(ToolCase):
    def found(self, text, **options):
        sections = self.extract_sections(text, **options)
        return [(section.level, section.title, section.text) for section in sections]

    def test_both_kinds_of_headings(self):
        text = "Intro\n\n# One #\na\n\nTwo\n===\nb\n\nThree\nmore\n---\nc\n### Four\n\n    code\n"
        self.assertEqual(
            self.found(text),
            [
                (0, "", "Intro"),
                (1, "One", "a"),
                (1, "Two", "b"),
                (2, "Three more", "c"),
                (3, "Four", "    code"),
            ],
        )
        lines = [section.line for section in self.extract_sections(text)]
        self.assertEqual(lines, [1, 3, 6, 10, 14])

    def test_places(self):
        text = "# A\r\nx\r\n\r\nB\r\n---\r\ny"
        first, second = self.extract_sections(text)
        self.assertEqual(text[first.start : first.end], "# A\r\nx\r\n\r\n")
        self.assertEqual(text[second.start : second.end], "B\r\n---\r\ny")
        self.assertEqual((first["text"], second["title"]), ("x", "B"))
        self.assertEqual(first.line, 1)

    def test_what_is_a_heading(self):
        cases = [
            ("#", [(1, "", "")]),
            ("###### x", [(6, "x", "")]),
            ("   # x", [(1, "x", "")]),
            ("#\tx ##", [(1, "x", "")]),
            ("# x#", [(1, "x#", "")]),
            ("# #", [(1, "", "")]),
            ("a\n= ", [(1, "a", "")]),
            ("**a**\n---", [(2, "**a**", "")]),
            ("***a***\n---", [(2, "***a***", "")]),
        ]
        for text, expected in cases:
            with self.subTest(text=text):
                self.assertEqual(self.found(text), expected)

    def test_what_is_none(self):
        texts = ["#x", "####### x", "    # x", "\t# x", "text # x", "a\n\n---\nb", "===\nb"]
        texts += ["- item\n---\nb", "> quote\n---\nb", "a\n- item\n---\nb", "1. item\n===\nb"]
        texts += ["***\n---\nb", "a | b\n--|--\n", "    code\n---\nb"]
        for text in texts:
            with self.subTest(text=text):
                self.assertEqual([level for level, _, _ in self.found(text)], [0])

    def test_fences_hide_headings(self):
        fences = [
            "```\n# no\n```\n",
            "```python\n# no\nx\n===\n```\n",
            "~~~\n# no\n```\n# no\n~~~\n",
            "````\n```\n# no\n```\n````\n",
            "- ```\n  # no\n  ```\n",
            "1. x\n\n   ```sh\n   # no\n   ```\n",
            "> ```\n> # no\n> ```\n",
            "```\r\n# no\r\n```\r\n",
        ]
        for fence in fences:
            with self.subTest(fence=fence):
                found = self.found(fence + "# yes\n")
                self.assertEqual([title for _, title, _ in found], ["", "yes"])
        self.assertEqual(self.found("# a\n```\n# no"), [(1, "a", "```\n# no")])
        self.assertEqual(len(self.found("``` a ` b\n# yes")), 2)

    def test_front_matter(self):
        text = "---\ntitle: x\n---\n# One\n"
        self.assertEqual([title for _, title, _ in self.found(text)], ["", "One"])
        text = "---\n\n# One\n\nb\n---\nc"
        self.assertEqual([title for _, title, _ in self.found(text)], ["", "One", "b"])

    def test_levels(self):
        text = "# A\na\n## B\nb\n### C\nc\n"
        self.assertEqual(self.found(text, level=1), [(1, "A", "a\n## B\nb\n### C\nc")])
        self.assertEqual(len(self.found(text, level=2)), 2)
        for level in (0, 7):
            with self.refused(ValueError, "from 1 to 6"):
                self.extract_sections(text, level=level)

    def test_nothing_there(self):
        self.assertEqual(self.extract_sections(""), [])
        self.assertEqual(self.extract_sections(" \n\n"), [])
        self.assertEqual(self.found("\n\n# A\n \n"), [(1, "A", "")])
        with self.refused(TypeError, "extract_sections() reads one str"):
            self.extract_sections(["# A"])

    def test_sections_are_data(self):
        sections = self.extract_sections("# A\nx")
        self.assertEqual(json.loads(json.dumps(sections))[0]["title"], "A")
        self.assertEqual(pickle.loads(pickle.dumps(sections))[0].title, "A")
        with self.refused(AttributeError, "Section has title, level"):
            sections[0].body


class HeaderChunkTest(ToolCase):
    TEXT = "Intro\n\n# A\na\n## B\nb\n### C\nc c c\n## D\nd\nE\n=\ne"

    def test_chunks_start_at_headers(self):
        self.assertEqual(
            self.chunk_by_headers(self.TEXT),
            ["Intro\n\n", "# A\na\n", "## B\nb\n", "### C\nc c c\n", "## D\n", "d\nE\n=\ne"],
        )
        self.assertEqual(
            self.chunk_by_headers("# A\na\n## B\nb\n# C\n", level=1), ["# A\na\n## B\nb\n", "# C\n"]
        )

    def test_nothing_is_lost(self):
        texts = [self.TEXT, self.TEXT.replace("\n", "\r\n"), "no headers " * 30, "x" * 100]
        for text in texts:
            for level in range(1, 7):
                for size in list(range(1, 40)) + [None]:
                    chunks = self.chunk_by_headers(text, level, size)
                    self.assertEqual("".join(chunks), text)
                    self.assertTrue(all(chunks))
                    self.assertLessEqual(max(map(len, chunks)), size or len(text))

    def test_large_chunks_are_cut_where_it_hurts_least(self):
        text = "# A\n## B\nb\n## C\n### D\nd\n### E\ne\n"
        cases = [
            (100, [text]),
            (25, ["# A\n", "## B\nb\n", "## C\n### D\nd\n### E\ne\n"]),
            (20, ["# A\n", "## B\nb\n", "## C\n", "### D\nd\n", "### E\ne\n"]),
        ]
        for size, expected in cases:
            self.assertEqual(self.chunk_by_headers(text, level=1, max_size=size), expected)
        plain = [
            ("aaaa\n\nbb\nbb b", 12, ["aaaa\n\nbb\n", "bb b"]),
            ("aaaaaa\n\nb\nbb b", 12, ["aaaaaa\n\n", "b\nbb b"]),
            ("aaaaa bbbbb", 8, ["aaaaa ", "bbbbb"]),
            ("aaaaaaaaaa", 4, ["aaaa", "aaaa", "aa"]),
        ]
        for text, size, expected in plain:
            with self.subTest(text=text):
                self.assertEqual(self.chunk_by_headers(text, max_size=size), expected)

    def test_edges(self):
        self.assertEqual(self.chunk_by_headers(""), [])
        self.assertEqual(self.chunk_by_headers(" \n"), [])
        self.assertEqual(self.chunk_by_headers("\n\n# A"), ["# A"])
        self.assertEqual(self.chunk_by_headers("x"), ["x"])
        for size in (0, -5):
            with self.refused(ValueError, "at least 1", "None"):
                self.chunk_by_headers("x", max_size=size)
        with self.refused(ValueError, "from 1 to 6"):
            self.chunk_by_headers("x", level=0)
        with self.refused(TypeError, "chunk_by_headers() reads one str, not int"):
            self.chunk_by_headers(3)

    def test_without_a_text_it_reads_the_context(self):
        with self.refused(NameError, "this session has no context", "chunk_by_headers()"):
            self.chunk_by_headers()
        self.variables["context"] = "# A\na\n# B\nb"
        self.assertEqual(self.chunk_by_headers(), ["# A\na\n", "# B\nb"])
        self.assertEqual(self.chunk_by_headers(max_size=5), ["# A\n", "a\n", "# B\nb"])
        self.assertEqual([section.title for section in self.extract_sections()], ["A", "B"])

    def test_long_lines_end(self):
        for unit in ("- ", "> ", "* ", "_ ", "#", "=", "`", "1. ", " ", "a\n=\n", "---\nx:\n"):
            with self.subTest(unit=unit):
                text = unit * 50_000 + "x"
                self.assertEqual("".join(self.chunk_by_headers(text, max_size=100)), text)


if __name__ == "__main__":
    unittest.main()
