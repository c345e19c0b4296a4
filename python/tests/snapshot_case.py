"""A test case that takes a session's variables from one interpreter to a new one."""
import importlib.util
import io
import json
import os
import tempfile

from cell_case import CellCase

from cellar_runner.cells.interpreter import Interpreter
from cellar_runner.state import snapshot

PLAIN = "pickle+zlib"
LIMIT = 1 << 30


def missing(*modules):
    """Why a test that needs these modules cannot run, or an empty text."""
    absent = [name for name in modules if importlib.util.find_spec(name) is None]
    return "this Python has no " + " and no ".join(absent) if absent else ""


def _keep(pieces):
    return lambda piece: pieces.append(bytes(piece))


class SnapshotCase(CellCase):
    """`codec` is the one to write with; None is the best there is."""

    codec = None

    def save(self, max_bytes=LIMIT, **options):
        """(bytes of a snapshot, its manifest)."""
        pieces = []
        options.setdefault("codec", self.codec)
        manifest = snapshot.write(self.interpreter, _keep(pieces), max_bytes, **options)
        self.check_manifest(manifest)
        return b"".join(pieces), manifest

    def check_manifest(self, manifest):
        """What the host's schema asks for."""
        json.dumps(manifest)
        keys = {"format", "python", "codec", "libraries", "variables", "omitted"}
        self.assertEqual(set(manifest), keys)
        self.assertLessEqual(len(manifest["variables"]), 10_000)
        for entry in manifest["variables"]:
            self.assertLessEqual(set(entry), {"name", "type", "kept", "size", "reason", "advice"})
            self.assertTrue(0 < len(entry["name"]) <= 512)
            texts = [entry[key] for key in ("type", "reason", "advice") if key in entry]
            self.assertTrue(all(0 < len(text) <= 4096 for text in texts), entry)
            self.assertEqual("reason" in entry, not entry["kept"], entry)

    def restore(self, data):
        """Reads into a new interpreter, which takes the place of the old one."""
        fresh = Interpreter(lambda shown, _metadata, _about=None: self.shown.append(shown))
        fresh.streams = (io.StringIO(), self.stdout, self.stderr)
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.flush()
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            report = snapshot.read(file.fileno(), fresh)
        self.interpreter = fresh
        self.assertEqual(set(report), {"restored", "lost", "warnings"})
        json.dumps(report)
        return report

    def travel(self, *codes, **options):
        """Runs cells, saves, restores; gives the report."""
        for code in codes:
            self.value(code)
        data, self.manifest = self.save(**options)
        return self.restore(data)

    def entry(self, name):
        """What the manifest says of a variable."""
        return next(entry for entry in self.manifest["variables"] if entry["name"] == name)

    def holds(self, expression):
        """Asserts that an expression is true in the session."""
        self.assertEqual(self.value("bool({})".format(expression)), "True", expression)
