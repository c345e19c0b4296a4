"""A test case with the functions of an agent over a context that a test can set."""
import contextlib
import shutil
import tempfile
import unittest

from cellar_runner.agent.agent import AgentTools

RIPGREP = shutil.which("rg")


def bridge(asked):
    """Answers each prompt with its last word, and notes what was asked."""

    def llm_query(prompt, model=None):
        asked.append(prompt)
        return prompt.split()[-1]

    return {
        "llm_query": llm_query,
        "llm_query_batched": lambda prompts: [llm_query(prompt) for prompt in prompts],
    }


class AgentCase(unittest.TestCase):
    """Has each function of the agent as an attribute, and a folder for files."""

    options = {}

    def setUp(self):
        self.variables = {}
        self.asked = []
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.add_tools()

    def add_tools(self, **options):
        """Starts anew with these options."""
        options = dict(self.options, workspace=self.folder, **options)
        self.agent = AgentTools(
            lambda: self.variables["context"], options, bridge(self.asked), lambda: self.variables
        )
        vars(self).update(self.agent.functions())

    def give(self, context):
        self.variables["context"] = context

    def write(self, name, content):
        """The path of a new file."""
        path = "{}/{}".format(self.folder, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    def calls(self):
        return self.agent.report()["calls"]

    @contextlib.contextmanager
    def refused(self, kind, *parts):
        """What runs inside must raise this, with these parts in the message."""
        with self.assertRaises(kind) as raised:
            yield raised
        for part in parts:
            self.assertIn(part, str(raised.exception))
