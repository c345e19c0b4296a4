"""JSON found in other text; broken JSON is told and hostile text ends."""
import unittest

from tool_case import ToolCase


class JsonTest(ToolCase):
    def test_values(self):
        cases = [
            ('{"a": 1}', {"a": 1}),
            (' \n[1, {"b": [2]}]\n', [1, {"b": [2]}]),
            ("\ufeff{}", {}),
            ("42", 42),
            ('"text"', "text"),
            ("null", None),
            ('Sure: {"a": {"b": "}]{"}} and {"c": 2}.', {"a": {"b": "}]{"}}),
            (r'so {"a": "\"}\\"} it is', {"a": '"}\\'}),
            ('The list is ["x", "y"].', ["x", "y"]),
            ("numbers [1, 2.5, -3e2] here", [1, 2.5, -300.0]),
            ("one [ [1], [2] ] two", [[1], [2]]),
            ('a [{"a": 1}] b', [{"a": 1}]),
            ('{"a": "two\nlines"} x', {"a": "two\nlines"}),
            ('x {"a": "\U0001f600\u00e9"} y', {"a": "\U0001f600\u00e9"}),
        ]
        for text, expected in cases:
            with self.subTest(text=text):
                self.assertEqual(self.extract_json(text), expected)

    def test_fenced_blocks(self):
        cases = [
            ('Here:\n```json\n{"a": 1}\n```\nDone.', {"a": 1}),
            ('Here:\r\n```JSON\r\n{"a": 1}\r\n```\r\n', {"a": 1}),
            ("```json\n42\n```", 42),
            ('```json {"a": 1}```', {"a": 1}),
            ('~~~json\n{"a": "```"}\n~~~', {"a": "```"}),
            ('```\n{"a": 1}\n```', {"a": 1}),
            ('```python\nx = {"a": 1}\n```', {"a": 1}),
            ('The form {"a": 0}:\n```json\n{"a": 1}\n```', {"a": 1}),
            ('```json\n{"a": [1\n```\nAgain:\n```json\n{"a": 2}\n```', {"a": 2}),
            ('````json\n{"a": 1}\n````', {"a": 1}),
            ("```json\nnothing\n```\n[5, 6]", [5, 6]),
        ]
        for text, expected in cases:
            with self.subTest(text=text):
                self.assertEqual(self.extract_json(text), expected)

    def test_nothing_there(self):
        texts = ["", "  ", "plain words", "42 apples", "{braces} and [brackets]", "{x | x > 0}"]
        texts += ["see [1-3] and [2, 4-6]", "[[Page]]", "{", "[", "}", "a { b", "[ x", "- [x] done"]
        for text in texts:
            with self.subTest(text=text):
                self.assertIsNone(self.extract_json(text))

    def test_words_in_brackets_come_last(self):
        cases = [
            ('As in [1], {"a": 1}', {"a": 1}),
            ('- [ ] task {"a": 1}', {"a": 1}),
            ('row["id"] = {"a": 1}', {"a": 1}),
            ('f() {} {"a": 1}', {"a": 1}),
            ('{name} is {"a": 1}', {"a": 1}),
            ('[see {"a": 1}]', {"a": 1}),
            ("As in [1].", [1]),
            ("Nothing found: []", []),
            ("Nothing found: {} so far", {}),
        ]
        for text, expected in cases:
            with self.subTest(text=text):
                self.assertEqual(self.extract_json(text), expected)

    def test_broken_json_is_told(self):
        cases = [
            ('x\n{"a": 1,}', "line 2, column", "trailing comma"),
            ('{"a": {"b": 1,\n\n}}', "trailing comma", "remove"),
            ("[1, 2, ]", "trailing comma", "line 1"),
            ('["a",]', "trailing comma", "line 1"),
            ('```json\n{"a": 1,}\n```', "line 2", "trailing comma"),
            ("{'a': 1}", "double quotes", "ast.literal_eval"),
            ("['a']", "double quotes", "ast.literal_eval"),
            ('so {"a": [1, 2', "ends in the middle", "near"),
            ('so {"a": "b', "string", "not closed"),
            ("{name: 1}", "double quotes", "line 1, column 2"),
            ('{"a" 1}', "delimiter", "column 6"),
        ]
        for text, *parts in cases:
            with self.subTest(text=text):
                with self.refused(ValueError, *parts):
                    self.extract_json(text)

    def test_a_part_of_a_broken_value_is_not_taken_for_it(self):
        texts = [
            '{"a": {"b": 1}, "c": 2,}',
            '{"a": {"b": 1}, "c": {"d": 2',
            '[{"a": 1}, {"a": 2},]',
            'x {"a": [1, 2], b: {"c": 3}} y',
            '```json\n{"a": {"b": 1},}\n```\n',
        ]
        for text in texts:
            with self.subTest(text=text):
                with self.refused(ValueError, "broken JSON"):
                    self.extract_json(text)
        self.assertEqual(self.extract_json('{"a", "b"} then {"c": 3}'), {"c": 3})

    def test_hostile_texts_end(self):
        many = 100_000
        units = ["{", "[", '{"', '{"a":', "[1,", '[{"a":', '{"a" ', '{"a":1,} ', "{}", "[] ", "}{"]
        units += ["`", "```json", "```json[", '```json["', '```json{"a":', "['", "{a", "{a:"]
        units += ['{"a":"', '```json "a', "``` ", '"', "\\"]
        texts = [unit * many for unit in units]
        texts += ['{"' + '\\"' * many, '{"a' + "\\" * many, "[" + " " * many + "{"]
        texts += ["[" * many + "1,", "[" + "1" * many + "]", "[" + "1," * many]
        texts += [("{" + " " * 100) * 1_000]
        texts += ["[" * many + "]" * many, '{"a":' * many + "1" + "}" * many]
        for text in texts:
            with self.subTest(text=text[:20]):
                try:
                    self.extract_json(text)
                except ValueError as error:
                    self.assertIn("broken JSON", str(error))
                    self.assertLess(len(str(error)), 300)

    def test_depth(self):
        for depth in (150, 300, 5_000):
            for before in ("", "x "):
                with self.subTest(depth=depth, before=before):
                    text = before + '[{"a":' * (depth // 2) + "1" + "}]" * (depth // 2)
                    if depth == 150:
                        self.assertIn("a", self.extract_json(text)[0])
                        continue
                    with self.refused(ValueError, "broken JSON", "nested too deep"):
                        self.extract_json(text)

    def test_a_str_of_a_subclass(self):
        class Answer(str):
            pass

        self.assertEqual(self.extract_json(Answer('x {"a": 1}')), {"a": 1})
        with self.refused(TypeError, "extract_json() reads one str, not dict"):
            self.extract_json({"a": 1})


if __name__ == "__main__":
    unittest.main()
