"""The runner keeps to Python 3.8 syntax and to the standard library."""
import ast
import os
import sys
import unittest

PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cellar_runner")
NEWER_THAN_3_8 = {"annotationlib", "compression", "graphlib", "tomllib", "zoneinfo"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def parse(source, name="<test>"):
    """Parse as Python 3.8 would."""
    return ast.parse(source, name, feature_version=(3, 8))


def imported_modules(node):
    """Return the top-level names that an import statement loads; relative ones are our own."""
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [node.module.split(".")[0]]
    return []


def foreign_imports(tree, standard):
    """List "line: module" for each import that may fail on a plain Python 3.8."""
    found = []

    def visit(node, in_function, guarded):
        for module in imported_modules(node):
            known = module in standard and module not in NEWER_THAN_3_8
            if not known and module != "cellar_runner" and not (in_function and guarded):
                found.append("%d: %s" % (node.lineno, module))
        inside = in_function or isinstance(node, FUNCTIONS)
        for field, value in ast.iter_fields(node):
            catches = isinstance(node, ast.Try) and field == "body" and bool(node.handlers)
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, inside, guarded or catches)

    visit(tree, False, False)
    return found


def exported(tree):
    """Return the names in a module's `__all__`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def unused_imports(tree):
    """List "line: name" for each import that nothing uses; `__builtins__` is used by the interpreter."""
    bound = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and getattr(node, "module", None) != "__future__":
            for alias in node.names:
                bound[alias.asname or alias.name.split(".")[0]] = node.lineno
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | {"__builtins__"} | exported(tree)
    return ["%d: %s" % (line, name) for name, line in bound.items() if name not in used]


def runner_files():
    """Return every Python file of the runner."""
    return sorted(
        os.path.join(folder, name)
        for folder, _, names in os.walk(PACKAGE)
        for name in names
        if name.endswith(".py")
    )


class SyntaxTest(unittest.TestCase):
    def test_there_are_files_to_check(self):
        self.assertTrue(runner_files())

    def test_newer_syntax_is_refused(self):
        with self.assertRaises(SyntaxError):
            parse("match x:\n    case 1:\n        pass\n")

    def test_runner_parses_as_python_3_8(self):
        for path in runner_files():
            with self.subTest(file=os.path.basename(path)):
                with open(path, encoding="utf-8") as file:
                    parse(file.read(), path)


class ImportTest(unittest.TestCase):
    def setUp(self):
        if not hasattr(sys, "stdlib_module_names"):
            self.skipTest("the list of standard modules needs Python 3.10 or newer")
        self.standard = sys.stdlib_module_names

    def test_foreign_imports_are_found(self):
        source = (
            "import os, numpy\n"
            "from . import wire\n"
            "from cellar_runner.wire import Wire\n"
            "import tomllib\n"
            "def free():\n"
            "    import pandas.io\n"
            "def guarded():\n"
            "    try:\n"
            "        import lz4.frame\n"
            "    except ImportError:\n"
            "        import lzma, polars\n"
        )
        expected = ["1: numpy", "4: tomllib", "6: pandas", "11: polars"]
        self.assertEqual(foreign_imports(parse(source), self.standard), expected)

    def test_runner_imports_the_standard_library_only(self):
        for path in runner_files():
            with self.subTest(file=os.path.basename(path)):
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(foreign_imports(parse(file.read()), self.standard), [])

    def test_unused_imports_are_found(self):
        source = (
            "from __future__ import annotations\n"
            "from ..pristine import BUILTINS as __builtins__\n"
            "import os.path, sys\n"
            "from . import one as two, three, four\n"
            "__all__ = ('four',)\n"
            "os.getcwd(two)\n"
        )
        self.assertEqual(unused_imports(parse(source)), ["3: sys", "4: three"])

    def test_runner_uses_what_it_imports(self):
        for path in runner_files():
            with self.subTest(file=os.path.basename(path)):
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(unused_imports(parse(file.read())), [])


if __name__ == "__main__":
    unittest.main()
