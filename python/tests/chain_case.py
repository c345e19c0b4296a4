"""A test case with tools over a small world, and turns that are run as chains or line by line."""

import builtins
import unittest

from cellar_runner.agent.chain.execute import execute
from cellar_runner.agent.chain.facts import Catalogue, ToolFacts, built_ins
from cellar_runner.agent.chain.plan import Options, Plan, plan

DEP = Options("dep")
REGISTRY = {
    "look": ToolFacts(True, True, reads=("file:{path}",), writes=(), parameters=("path",)),
    "db.row": ToolFacts(True, True, reads=("db:{key}",), writes=(), parameters=("key",)),
    "db.put": ToolFacts(False, True, reads=(), writes=("db:{key}",), parameters=("key", "value")),
    "db.drop": ToolFacts(False, False),
    "guess": ToolFacts(True, True),
}


class Group:
    """Tools by their names, as `tools` has them."""

    def __init__(self, **members):
        vars(self).update(members)


class ChainCase(unittest.TestCase):
    """Keeps what was called, in the order of the calls."""

    def setUp(self):
        self.files = {"/w/a.txt": "old"}
        self.rows = {}
        self.called = []
        self.catalogue = Catalogue(built_ins(workspace="/w"), REGISTRY)
        self.functions = {
            "peek": lambda n=500, file=None: "abcdef"[:n] if file is None else self.files[file][:n],
            "grep": lambda pattern, file=None: [pattern, "hit"],
            "list_dir": lambda path="/w": sorted(one for one in self.files if one.startswith(path)),
            "file_write_safe": lambda path, content: self.files.update({path: content}),
            "log_append": lambda name, text: self.files.update(
                {"/w/logs/" + name: self.files.get("/w/logs/" + name, "") + text}
            ),
            "run_shell": lambda command: "ran " + command,
            "code_search": lambda query: ["code " + query],
            "doc_search": lambda query: ["doc " + query],
            "web_search": lambda query: ["web " + query],
            "llm_call": lambda prompt: prompt.upper(),
        }
        self.registry = {
            "look": lambda path: self.files[path],
            "db.row": lambda key: self.rows.get(key),
            "db.put": lambda key, value: self.rows.update({key: value}),
            "guess": lambda: 4,
        }
        self.namespace = {}

    def prepared(self):
        """The variables, with the tools among the built-ins."""
        found = {name: self.noted(name, function) for name, function in self.functions.items()}
        tools = {name: self.noted(name, function) for name, function in self.registry.items()}
        found["TOOL"] = lambda name, **named: tools[name](**named)
        found["tool_call"] = lambda name, arguments: tools[name](**arguments)
        database = Group(**{name[3:]: one for name, one in tools.items() if name.startswith("db.")})
        found["tools"] = Group(db=database, **{name: one for name, one in tools.items() if "." not in name})
        self.namespace["__builtins__"] = dict(vars(builtins), **found)
        return self.namespace

    def noted(self, name, function):
        def tool(*positional, **named):
            self.called.append((name,) + positional + tuple(named.values()))
            return function(*positional, **named)

        return tool

    def plan(self, code, options=DEP):
        return plan(code, self.catalogue, self.namespace, options, "<cell 1>")

    def chain(self, code, options=DEP, call=None):
        """The outcome of a turn that must be run as a chain."""
        planned = self.plan(code, options)
        self.assertIsInstance(planned, Plan, planned)
        return execute(planned, self.prepared(), call)

    def run_lines(self, code):
        """The error of a turn that is run line by line, or None."""
        try:
            exec(code, self.prepared())
        except Exception as error:
            return error
        return None

    def variables(self):
        return {name: value for name, value in self.namespace.items() if name != "__builtins__"}
