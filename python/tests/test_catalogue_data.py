"""JSON, CSV, SQL, plots as text, likeness of texts, and lint."""

import json
import math
import unittest
from unittest import mock

from catalogue_case import CatalogueCase

#: The first example of JMESPath's tutorial.
LOCATIONS = {
    "locations": [
        {"name": "Seattle", "state": "WA"},
        {"name": "New York", "state": "NY"},
        {"name": "Bellevue", "state": "WA"},
        {"name": "Olympia", "state": "WA"},
    ]
}


class DataTest(CatalogueCase):
    file = "data"

    def test_json_query(self):
        self.needs("jmespath")
        query = "locations[?state == 'WA'].name | sort(@) | {WashingtonCities: join(', ', @)}"
        expected = {"WashingtonCities": "Bellevue, Olympia, Seattle"}
        self.assertEqual(self.tools.json_query(LOCATIONS, query), expected)
        self.assertEqual(self.tools.json_query(json.dumps(LOCATIONS), query), expected)
        self.assertIsNone(self.tools.json_query({"a": 1}, "b.c"))
        self.refuses("query 'a\\['", self.tools.json_query, {}, "a[")
        self.refuses("data is not JSON", self.tools.json_query, "{", "a")

    def test_csv_of_rfc_4180(self):
        text = 'aaa,"b ""bb""","c\nc"\r\nzzz,yyy,xxx\r\n'
        rows = self.tools.csv_to_json(text, header=False)
        self.assertEqual(rows, [["aaa", 'b "bb"', "c\nc"], ["zzz", "yyy", "xxx"]])
        self.assertEqual(self.tools.csv_to_json(text), [{"aaa": "zzz", 'b "bb"': "yyy", "c\nc": "xxx"}])

    def test_csv_values(self):
        row = "a,b,c,d,e,f\n1,-2.5e3,true,,007,1_000\n"
        expected = {"a": 1, "b": -2500.0, "c": True, "d": None, "e": "007", "f": "1_000"}
        self.assertEqual(self.tools.csv_to_json(row), [expected])
        self.assertEqual(self.tools.csv_to_json("\ufeffa;b\n1;2\n", delimiter=";"), [{"a": 1, "b": 2}])
        self.assertEqual(self.tools.csv_to_json("a\n1\n", typed=False), [{"a": "1"}])
        self.assertEqual(self.tools.csv_to_json(""), [])

    def test_csv_there_and_back(self):
        rows = [{"a": 1, "b": 'x "y", z'}, {"a": None, "b": "two\nlines"}, {"b": True, "c": 2.5}]
        written = self.tools.json_to_csv(rows)
        self.assertEqual(written, 'a,b,c\n1,"x ""y"", z",\n,"two\nlines",\n,true,2.5\n')
        back = [{key: row.get(key) for key in "abc"} for row in rows]
        self.assertEqual(self.tools.csv_to_json(written), back)

    def test_csv_bad_input(self):
        self.refuses("row 3 has 1 cells, and the header 2", self.tools.csv_to_json, "a,b\n1,2\n3\n")
        self.refuses("a name twice", self.tools.csv_to_json, "a,a\n1,2\n")
        self.refuses("one character", self.tools.csv_to_json, "a", delimiter="ab")
        self.refuses("cannot be read", self.tools.csv_to_json, 'a\n"open\n')
        self.refuses("must be a list of objects", self.tools.json_to_csv, [1])

    def test_sql(self):
        # Date's suppliers: those who supply at least one red part are S1, S2 and S4.
        tables = {
            "p": [{"p": "P1", "colour": "Red"}, {"p": "P2", "colour": "Green"}, {"p": "P4", "colour": "Red"}],
            "sp": [
                {"s": one, "p": other, "qty": qty}
                for one, other, qty in (
                    ("S1", "P1", 300),
                    ("S1", "P2", 200),
                    ("S2", "P1", 300),
                    ("S3", "P2", 200),
                    ("S4", "P4", 300),
                )
            ],
        }
        query = "select s, sum(qty) as total from sp join p using (p) where colour = 'Red' group by s order by s"
        expected = [{"s": "S1", "total": 300}, {"s": "S2", "total": 300}, {"s": "S4", "total": 300}]
        self.assertEqual(self.tools.sql_query(query, tables), expected)
        self.needs("duckdb", "pandas")
        self.assertEqual(self.tools.sql_query(query, tables, engine="duckdb"), expected)
        median = self.tools.sql_query("select median(qty) as m from sp", tables, engine="duckdb")
        self.assertEqual(median, [{"m": 300.0}])

    def test_sql_columns_and_kinds(self):
        tables = {"t": [{"a": 1, "b": [1, 2]}, {"a": None, "c": "x"}]}
        self.assertEqual(
            self.tools.sql_query("select a, a, c from t where a is null", tables), [{"a": None, "a_2": None, "c": "x"}]
        )
        self.assertEqual(
            self.tools.sql_query("select json_extract(b, '$[1]') as one from t limit 1", tables), [{"one": 2}]
        )
        self.assertEqual(self.tools.sql_query("create table z (a)"), [])

    def test_sql_bad_input(self):
        self.refuses("SQL error: no such table: t", self.tools.sql_query, "select * from t")
        self.refuses("SQL error", self.tools.sql_query, "select 1; select 2")
        self.refuses("not a name for a table", self.tools.sql_query, "select 1", {"a b": []})
        self.refuses("must be one of sqlite, duckdb", self.tools.sql_query, "select 1", {}, "mysql")
        self.refuses("more than 2 rows", self.tools.sql_query, "select * from t", {"t": [{"a": 1}] * 3}, limit=2)
        self.needs("duckdb", "pandas")
        self.refuses("SQL error", self.tools.sql_query, "select * from read_csv('/etc/passwd')", {}, "duckdb")


class BrailleTest(CatalogueCase):
    file = "braille"

    def test_dots_as_unicode_numbers_them(self):
        dot = self.tools.plot_braille([0, 3], x=[0, 1], width=1, height=1, connect=False)["plot"]
        self.assertEqual(dot, chr(0x2800 + 0x40 + 0x08))  # dot 7, lower left, and dot 4, upper right
        full = self.tools.plot_braille([0, 1, 2, 3] * 2, x=[0] * 4 + [1] * 4, width=1, height=1, connect=False)
        self.assertEqual(full["plot"], "\u28ff")

    def test_curve(self):
        found = self.tools.plot_braille([0, 1, 2, 3], width=2, height=1)
        self.assertEqual(found, {"plot": "\u2860\u280a", "x": [0, 3], "y": [0, 3]})
        flat = self.tools.plot_braille([5, 5, 5], width=3, height=1)["plot"]
        self.assertEqual(flat, "\u2824\u2824\u2824")
        lines = self.tools.plot_braille([math.sin(one / 10) for one in range(100)], width=40, height=8)["plot"].split(
            "\n"
        )
        self.assertEqual([len(line) for line in lines], [40] * 8)

    def test_bad_input(self):
        self.refuses("y must have 1 to", self.tools.plot_braille, [])
        self.refuses("as many numbers: 1 and 2", self.tools.plot_braille, [1, 2], x=[1])
        self.refuses("width must be a whole number", self.tools.plot_braille, [1], width=0)


class WordsTest(CatalogueCase):
    file = "words"

    def test_embeddings_have_length_1_and_tell_likeness(self):
        texts = ["the cat sat on the mat", "a cat sat on a mat", "quarterly profit of the bank"]
        found = self.tools.embed_text(texts)
        one, other, third = found["vectors"]
        self.assertEqual((found["dimensions"], len(one)), (256, 256))
        self.near(sum(part * part for part in one), 1)

        def cosine(left, right):
            return sum(a * b for a, b in zip(left, right))

        self.assertGreater(cosine(one, other), cosine(one, third) + 0.2)
        self.assertEqual(self.tools.embed_text(texts), found)
        # Normal forms of Unicode and capital letters are no difference.
        same = self.tools.embed_text(["\u00c9COLE", "e\u0301cole"])["vectors"]
        self.assertEqual(same[0], same[1])
        self.assertEqual(self.tools.embed_text("", 8)["vectors"], [[0.0] * 8])

    def test_places_do_not_change(self):
        # Stored vectors stay comparable: hashing is by BLAKE2 (RFC 7693), not by Python's seeded hash.
        import hashlib

        digest = int.from_bytes(hashlib.blake2b(b"w:a", digest_size=8).digest(), "big")
        vector = self.tools.embed_text("a", 64)["vectors"][0]
        self.assertEqual([index for index, part in enumerate(vector) if part], [(digest >> 1) % 64])

    def test_search(self):
        documents = ["the cat sleeps", "a dog runs fast", "stocks fell on Monday"]
        found = self.tools.similarity_search("running dogs", documents, top_k=2)
        self.assertEqual([one["index"] for one in found], [1, 0])
        self.assertGreater(found[0]["score"], 0)
        exact = self.tools.similarity_search("the cat sleeps", documents, top_k=1)[0]
        self.near(exact["score"], 1)

    def test_classes(self):
        labels = {
            "sport": ["the team scored a goal", "a tennis match"],
            "finance": ["shares and bonds fell", "the bank raised rates"],
        }
        self.assertEqual(self.tools.classify_text("two late goals won the match", labels)["label"], "sport")
        self.assertEqual(self.tools.classify_text("bond rates", labels)["label"], "finance")
        self.assertIsNone(self.tools.classify_text("zzz", labels)["label"])

    def test_bad_input(self):
        self.refuses("texts must be a list of 1", self.tools.embed_text, [])
        self.refuses(r"texts\[0\] must be a text", self.tools.embed_text, [1])
        self.refuses("dimensions must be", self.tools.embed_text, "a", 1)
        self.refuses("top_k must be", self.tools.similarity_search, "a", ["b"], 0)
        self.refuses("labels must be an object with 2", self.tools.classify_text, "a", {"one": ["x"]})


class LintTest(CatalogueCase):
    file = "code"

    def setUp(self):
        self.needs("ruff")

    def test_rules_of_pyflakes(self):
        found = self.tools.lint_python("import os\nx = 1\nprint(y)\n")
        told = [(one["code"], one["line"]) for one in found["problems"]]
        self.assertEqual(told, [("F401", 1), ("F821", 3)])
        self.assertEqual(self.tools.lint_python("x = 1\n"), {"problems": [], "count": 0})
        self.assertEqual(self.tools.lint_python("import os\n", ignore=["F401"])["count"], 0)
        self.assertGreater(self.tools.lint_python("def f(:\n")["count"], 0)

    def test_bad_input(self):
        self.refuses("code must be a text", self.tools.lint_python, 1)
        self.refuses("select must be a list of rules", self.tools.lint_python, "", select=["--fix"])
        self.refuses("ruff failed", self.tools.lint_python, "", select=["ZZZ999"])


class OcrTest(CatalogueCase):
    file = "ocr"

    def test_lines_of_what_tesseract_found(self):
        found = {
            "text": ["Hello", "", "world", "Bye"],
            "conf": ["90", "-1", "80", "100"],
            "block_num": [1, 1, 1, 1],
            "par_num": [1, 1, 1, 1],
            "line_num": [1, 1, 1, 2],
        }
        expected = {"text": "Hello world\nBye", "confidence": 0.9, "words": 3}
        self.assertEqual(self.tools._lines(found), expected)

    def test_without_the_library(self):
        with mock.patch.dict("sys.modules", {"pytesseract": None}):
            with self.assertRaisesRegex(ImportError, "pytesseract"):
                self.tools.ocr_extract("")

    def test_bad_input(self):
        self.needs("pytesseract", "PIL")
        self.refuses("picture in base64", self.tools.ocr_extract, "not base64!")


if __name__ == "__main__":
    unittest.main()
