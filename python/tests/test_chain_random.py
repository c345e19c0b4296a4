"""Random turns leave the same world and variables as a chain as they do line by line."""

import builtins
import random
import sys
import unittest
from unittest import mock

from cellar_runner.agent.chain import execute as executing
from cellar_runner.agent.chain import plan as planning
from cellar_runner.agent.chain.facts import Catalogue, ToolFacts
from cellar_runner.agent.chain.plan import Options, Plan, plan

PROGRAMS = 300
PATHS = ("/w/a", "/w/b", "/w/d/c", "/w/d/e")
NAMES = "pqrstu"
SAFE = ("put", "log")
FACTS = {
    "read": ToolFacts(True, True, False, ("file:{path}",), (), ("path",)),
    "tree": ToolFacts(True, True, False, ("file:{path}",), (), ("path",)),
    "pure": ToolFacts(True, True, False, (), (), ("value",)),
    "fails": ToolFacts(True, True, False, (), (), ("value",)),
    "mystery": ToolFacts(True, True),
    "put": ToolFacts(False, True, False, (), ("file:{path}",), ("path", "text")),
    "log": ToolFacts(False, True, False, (), ("log:{name}",), ("name", "text")),
    "logged": ToolFacts(True, True, False, ("log:{name}",), (), ("name",)),
    "move": ToolFacts(False, True, False, ("file:{source}",), ("file:{source}", "file:{path}"), ("source", "path")),
    "shell": ToolFacts(False, True, False, (), ("*",)),
}


class Missing(Exception):
    pass


class World:
    """Files and logs, and tools that read and change them."""

    def __init__(self):
        self.files = {"/w/a": "A", "/w/b": "B"}
        self.logs = {}
        self.commands = []

    def read(self, path):
        return self.files.get(path, "none")

    def tree(self, path):
        return [one for one in sorted(self.files) if one.startswith(path)]

    def pure(self, value):
        return "<{}>".format(value)[:60]

    def fails(self, value):
        if len(str(value)) % 3 == 0:
            raise Missing(str(value))
        return value

    def mystery(self):
        return repr(self.state())[:80]

    def put(self, path, text):
        self.files[path] = str(text)[:40]
        return path

    def log(self, name, text):
        self.logs[name] = self.logs.get(name, "") + str(text)[:10]

    def logged(self, name):
        return self.logs.get(name)

    def move(self, source, path):
        if source not in self.files:
            raise Missing(source)
        self.files[path] = self.files.pop(source)
        return path

    def shell(self, command):
        self.commands.append((command, sorted(self.files.items())))
        self.files[PATHS[len(self.commands) % 4]] = str(command)[:20]
        return str(len(self.commands))

    def state(self):
        return sorted(self.files.items()), sorted(self.logs.items()), self.commands


class Program:
    """A turn of assignments, calls and prints, by a seed."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._bound = ["old"]
        lines = [self._line() for _ in range(self._random.randint(3, 10))]
        self.code = "\n".join(["a = pure('start')", "b = pure('go')"] + lines)

    def _line(self):
        pick = self._random.random()
        if pick < 0.1:
            return "print({})".format(self._value())
        value = self._value() if pick < 0.2 else self._call()
        if pick > 0.8:
            return value
        name = self._random.choice(NAMES)
        self._bound.append(name)
        return "{} = {}".format(name, value)

    def _call(self):
        tool = self._random.choice([name for name in FACTS if name != "fails"] * 2 + ["fails"])
        if tool == "mystery":
            return "mystery()"
        if tool == "shell":
            return "shell({})".format(self._value())
        form = self._random.choice(["{1}", "{1}", "{0}={1}"])
        given = [form.format(name, self._argument(name)) for name in FACTS[tool].parameters]
        return "{}({})".format(tool, ", ".join(given))

    def _argument(self, name):
        if name in ("path", "source"):
            # The variable `where` is known before the turn, the results of calls are not.
            return self._random.choice([repr(path) for path in PATHS + ("/w/d",)] + ["where"])
        if name == "name":
            return repr(self._random.choice("xy"))
        return self._value()

    def _value(self):
        known = self._random.choice(self._bound)
        return self._random.choice(
            ["{0}", "{0}", "[{0}, 1]", "{{'k': ({0}, 'x')}}", "f'{{{0}}}!'", "'text'", "7", "[{0}][0]"]
        ).format(known)


class ShuffledCrew:
    """Does jobs one by one, in a random order."""

    def __init__(self, choose):
        self._choose = choose

    def run(self, jobs):
        jobs = list(jobs)
        self._choose.shuffle(jobs)
        for job in jobs:
            job()


class RandomTest(unittest.TestCase):
    def setUp(self):
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-5)
        self.catalogue = Catalogue(FACTS)

    def variables(self, world):
        tools = {name: getattr(world, name) for name in FACTS}
        given = dict(vars(builtins), print=lambda *_values: None, **tools)
        return {"__builtins__": given, "old": "O", "where": "/w/b"}

    def by_lines(self, code):
        world = World()
        variables, error = self.variables(world), None
        try:
            exec(code, variables)
        except Exception as raised:
            error = raised
        return world.state(), variables, repr(error)

    def by_chain(self, code, options, crew):
        world = World()
        variables = self.variables(world)
        planned = plan(code, self.catalogue, variables, options)
        self.assertIsInstance(planned, Plan, code)
        with mock.patch.object(executing, "Crew", crew or executing.Crew):
            outcome = executing.execute(planned, variables)
        return (world.state(), variables, repr(outcome.error)), planned

    def compare(self, got, expected, code):
        for one in (got, expected):
            one[1].pop("__builtins__", None)
        self.assertEqual(got, expected, "\n" + code)

    def test_as_line_by_line(self):
        """Fails without any one of: names of arguments, outside state, write-after-read, write-after-write, order of effects."""
        failed = together = 0
        with mock.patch.object(planning, "SAFE_MUTATIONS", frozenset(SAFE)):
            for seed in range(PROGRAMS):
                code = Program(seed).code
                expected = self.by_lines(code)
                failed += expected[2] != "None"
                options = Options("dep", parallel_mutations=bool(seed % 2) and expected[2] == "None")
                choose = random.Random(seed)
                crew = (lambda _most: ShuffledCrew(choose)) if seed % 4 < 2 else None
                got, planned = self.by_chain(code, options, crew)
                together += any(len(wave.together) > 1 for wave in planned.waves)
                self.compare(got, expected, code)
        # Enough of each kind for the comparison to mean something.
        self.assertGreater(failed, PROGRAMS // 10)
        self.assertLess(failed, PROGRAMS * 3 // 4)
        self.assertGreater(together, PROGRAMS // 2)


if __name__ == "__main__":
    unittest.main()
