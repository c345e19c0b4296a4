"""The fixtures of the protocol get the same verdicts here as on the host."""
import json
import os
import unittest

from cellar_runner import messages
from cellar_runner.schema import MAX_PROBLEMS, check

PROTOCOL = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "protocol"
)
FIXTURES = os.path.join(PROTOCOL, "fixtures")
MIN_FIXTURES = {"accept": 1, "reject": 2}


def load(path):
    """Read strict JSON: Python alone would also take NaN."""

    def refuse(name):
        raise ValueError("%s is not JSON" % name)

    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_constant=refuse)


def schemas(envelope, table):
    """Return the schema of every fixture folder."""
    found = {"envelope": envelope}
    for method, spec in table.items():
        found[method] = spec["params"]
        if spec["kind"] == "request":
            found[method + ".result"] = spec["result"]
    return found


def fixtures_of_daemon(table):
    """Return the folders of messages that no runner ever sees."""
    spoken = {method: spec for method, spec in table.items() if spec["link"] == "daemon"}
    return set(schemas({}, spoken)) - {"envelope"}


class FixtureTest(unittest.TestCase):
    def replay(self, tables, elsewhere=()):
        for verdict, least in MIN_FIXTURES.items():
            folder = os.path.join(FIXTURES, verdict)
            self.assertEqual(sorted(os.listdir(folder)), sorted([*tables, *elsewhere]))
            for message, schema in tables.items():
                files = sorted(os.listdir(os.path.join(folder, message)))
                self.assertGreaterEqual(len(files), least, message)
                for name in files:
                    with self.subTest(verdict=verdict, message=message, fixture=name):
                        problems = check(schema, load(os.path.join(folder, message, name)))
                        self.assertEqual(problems is None, verdict == "accept", problems)

    def test_reduced_tables(self):
        whole = load(os.path.join(PROTOCOL, "schema.json"))["messages"]
        self.replay(schemas(messages.ENVELOPE, messages.MESSAGES), fixtures_of_daemon(whole))

    def test_full_schema(self):
        document = load(os.path.join(PROTOCOL, "schema.json"))
        whole = document["messages"]
        inside = {method: spec for method, spec in whole.items() if spec["link"] != "daemon"}
        self.replay(schemas(document["envelope"], inside), fixtures_of_daemon(whole))

    def test_constants_agree(self):
        constants = load(os.path.join(PROTOCOL, "schema.json"))["constants"]
        self.assertTrue(constants)
        for name, value in constants.items():
            self.assertEqual(getattr(messages, name.upper()), value)


class CheckTest(unittest.TestCase):
    def assert_verdicts(self, schema, accept, reject):
        for value in accept:
            self.assertIsNone(check(schema, value), value)
        for value in reject:
            self.assertTrue(check(schema, value), value)

    def test_integers_are_those_of_json(self):
        self.assert_verdicts(
            {"type": "integer", "minimum": 0},
            [0, 1, 1.0, -0.0, 2**53 - 1],
            [True, False, -1, 0.5, 2**53, 1e300, float("nan"), float("inf"), "1", None, [], {}],
        )

    def test_numbers_are_finite(self):
        self.assert_verdicts(
            {"type": "number", "exclusiveMinimum": 0},
            [0.5, 1, 2**60],
            [0, -1, True, float("nan"), float("inf"), "1", None],
        )

    def test_lengths_count_code_points(self):
        self.assert_verdicts(
            {"type": "string", "minLength": 1, "maxLength": 2},
            ["a", "\U0001f600\U0001f600"],
            ["", "abc", b"a", None],
        )

    def test_constants_keep_their_type(self):
        self.assert_verdicts({"const": True}, [True], [1, 1.0, "true", False, None])
        self.assert_verdicts({"const": 1}, [1, 1.0], [True, "1"])
        self.assert_verdicts({"const": None}, [None], [0, False, "", {}])
        self.assert_verdicts({"enum": ["a", "b"]}, ["a", "b"], ["c", "", None, ["a"]])

    def test_objects(self):
        closed = {
            "type": "object",
            "properties": {"a": {"type": "null"}},
            "required": ["a"],
            "additionalProperties": False,
        }
        self.assert_verdicts(closed, [{"a": None}], [{}, {"a": 1}, {"a": None, "b": 1}, [], None])
        record = {
            "type": "object",
            "propertyNames": {"type": "string", "maxLength": 2},
            "maxProperties": 2,
            "additionalProperties": {"type": "boolean"},
        }
        self.assert_verdicts(
            record,
            [{}, {"a": True, "": False}],
            [{"abc": True}, {"a": 1}, {"a": True, "b": True, "c": True}],
        )

    def test_arrays(self):
        self.assert_verdicts(
            {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
            [[1], [1, 2]],
            [[], [1, 2, 3], ["1"], {"0": 1}, "1"],
        )

    def test_alternatives(self):
        either = [{"type": "integer"}, {"type": "number"}]
        self.assert_verdicts({"anyOf": either}, [1, 1.5], ["1"])
        self.assert_verdicts({"oneOf": either}, [1.5], [1, "1"])

    def test_problems_name_the_place(self):
        schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "null"}}}}
        self.assertEqual(check(schema, {"a": [None, 3]}), ["$.a[1] is integer, not null"])

    def test_problems_are_bounded(self):
        many = check({"type": "array", "items": {"type": "null"}}, [0] * 10000)
        self.assertEqual(len(many), MAX_PROBLEMS)

    def test_replaced_builtins_do_no_harm(self):
        import builtins

        names = ("len", "type", "isinstance", "dict", "str", "int", "bool", "range", "list")
        kept = {name: getattr(builtins, name) for name in names}
        schema = messages.MESSAGES["execute"]["params"]
        params = {"step": 1, "number": 1, "code": "", "max_output": 0, "checkpoint": "off"}
        try:
            for name in names:
                setattr(builtins, name, None)
            good, bad = check(schema, params), check(schema, {"step": True})
        finally:
            for name, value in kept.items():
                setattr(builtins, name, value)
        self.assertIsNone(good)
        self.assertTrue(bad)


if __name__ == "__main__":
    unittest.main()
