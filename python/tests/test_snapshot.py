"""Variables, functions and classes live on in a new session."""
import importlib.util
import io
import unittest
from unittest import mock

from snapshot_case import PLAIN, SnapshotCase

from cellar_runner.state import moved_modules, pickling, snapshot


class ValueTest(SnapshotCase):
    def test_plain_values(self):
        report = self.travel("a = 1\nb = 'text'\nc = {'k': [1.5, None, (True, b'x')]}\nd = {3, 4}")
        self.assertEqual(report, {"restored": ["a", "b", "c", "d"], "lost": [], "warnings": []})
        self.holds("(a, b, c, d) == (1, 'text', {'k': [1.5, None, (True, b'x')]}, {3, 4})")
        self.assertEqual(self.manifest["codec"], self.codec or snapshot.codec_here())
        self.assertTrue(all(entry["size"] > 0 for entry in self.manifest["variables"]))

    def test_what_variables_share_stays_shared(self):
        self.travel("a = [1]\nb = a\nc = {'inner': a}\nd = []\nd.append(d)\ne = (a, c)")
        self.holds("a is b and c['inner'] is a and d[0] is d and e[0] is a and e[1] is c")
        self.assertEqual(self.value("b.append(2)\na"), "[1, 2]")

    def test_a_lost_variable_does_not_harm_what_shares_with_it(self):
        code = (
            "good = [1]\nbad = [good, ['new'], (x for x in good)]\nlate = [good, bad[1]]\n"
            "last = late[1]"
        )
        report = self.travel(code)
        self.assertEqual(report["restored"], ["good", "late", "last"])
        self.holds("late == [[1], ['new']] and late[0] is good and late[1] is last")

    def test_many_losses_between_good_ones(self):
        lines = ["s = ['shared']"]
        for number in range(60):
            lines.append("g{0} = [['p{0}'], s, (i for i in ())]\nv{0} = [s, 'v{0}']".format(number))
        report = self.travel("\n".join(lines))
        self.assertEqual(len(report["lost"]), 60)
        self.holds("all(globals()['v%d' % i] == [s, 'v%d' % i] for i in range(60))")
        self.holds("all(globals()['v%d' % i][0] is s for i in range(60))")

    def test_order_of_names(self):
        self.travel("z = 1\ndef f(): pass\na = 2\nclass C: pass\nimport json")
        names = self.value("[n for n in globals() if not n.startswith('__')]")
        self.assertEqual(names, "['z', 'f', 'a', 'C', 'json']")

    def test_a_snapshot_of_a_restored_session(self):
        self.travel("a = [1]\nb = [a]\ndef f(): return a\nclass C:\n    def m(self): return f()")
        self.travel("c = C()")
        self.holds("b[0] is a and f() is a and c.m() is a and type(c) is C")

    def test_large_values_of_the_stream(self):
        code = "t = 'häuser ' * 400_000\nb = bytes(range(256)) * 9_000\nn = list(range(300_000))"
        self.travel(code + "\nu = [t, b]\nimport os\nr = os.urandom(3_000_000)\nw = bytearray(r)")
        self.holds("len(t) == 2_800_000 and b == bytes(range(256)) * 9_000 and sum(n) == 44999850000")
        self.holds("u[0] is t and u[1] is b and w == r and w is not r")

    def test_a_large_value_that_fails_half_way_leaves_no_trace(self):
        code = "import os\na = 'first'\nbad = [os.urandom(3_000_000), 'x' * 3_000_000, (i for i in ())]"
        self.value(code + "\nz = [a, 'last']")
        data, _ = self.save()
        self.assertLess(len(data), 100_000)
        report = self.restore(data)
        self.assertEqual(report["restored"], ["os", "a", "z"])
        self.holds("z == ['first', 'last'] and z[0] is a")

    def test_names_that_are_not_kept(self):
        self.value("_ = 5\n__ = 6\n_own = 7\nx: int = 8\nglobals()[3] = 4\nglobals()['\\ud800'] = 1")
        self.value("globals()['n' * 600] = 2")
        data, manifest = self.save()
        self.assertEqual([entry["name"] for entry in manifest["variables"]], ["_own", "x"])
        self.assertEqual(manifest["omitted"], 2)
        _, manifest = self.save(private=False)
        self.assertEqual([entry["name"] for entry in manifest["variables"]], ["x"])

    def test_more_variables_than_a_manifest_lists(self):
        self.value("for i in range(10_050): globals()['v%d' % i] = i\ndel i")
        data, manifest = self.save()
        self.assertEqual((len(manifest["variables"]), manifest["omitted"]), (10_000, 50))
        self.restore(data)
        self.holds("all(globals()['v%d' % i] == i for i in range(10_050))")

    def test_a_large_context_stays_with_the_host(self):
        with mock.patch.object(snapshot, "LARGE_CONTEXT", 1000):
            report = self.travel("context = 'c' * 5000\nother = 'o' * 5000")
            self.assertEqual(report["restored"], ["other"])
            self.assertIn("context", self.entry("context")["advice"])
            self.assertEqual(self.travel("context = 'short'")["restored"], ["other", "context"])


class DefinitionTest(SnapshotCase):
    def test_globals_of_a_function_are_the_live_namespace(self):
        self.travel("x = 1\ndef f(): return x\ng = lambda: x\ndef setx(v):\n    global x\n    x = v")
        self.assertEqual(self.value("x = 2\nf(), g()"), "(2, 2)")
        self.assertEqual(self.value("setx(9)\nx"), "9")
        self.holds("f.__globals__ is globals()")

    def test_a_function_that_refers_to_something_lost_is_kept(self):
        report = self.travel("g = (i for i in ())\ndef f(): return list(g)")
        self.assertEqual(report["restored"], ["f"])
        self.assertEqual(self.value("g = iter([1])\nf()"), "[1]")

    def test_everything_that_makes_a_function(self):
        self.travel(
            "def f(a, b=[1], *args, c: int = 3, **more) -> str:\n    'doc'\n    return (a, b, c)\n"
            "f.note = f\nshared = f.__defaults__[0]"
        )
        self.holds("f(0) == (0, [1], 3) and f.__doc__ == 'doc' and f.note is f")
        self.holds("f.__annotations__ == {'c': int, 'return': str} and f.__defaults__[0] is shared")
        self.holds("(f.__name__, f.__qualname__, f.__module__) == ('f', 'f', '__main__')")

    def test_closures_share_their_cells(self):
        self.travel(
            "def counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n"
            "        return n\n"
            "    def get(): return n\n    return up, get\nup, get = counter()\nup()"
        )
        self.assertEqual(self.value("up(), get()"), "(2, 2)")

    def test_recursive_and_empty_closures(self):
        self.travel(
            "def outer():\n    def fact(n): return 1 if n < 2 else n * fact(n - 1)\n    return fact\n"
            "fact = outer()\ndef odd():\n    def f(): return late\n    if False: late = 1\n"
            "    return f\nf = odd()"
        )
        self.assertEqual(self.value("fact(5)"), "120")
        self.error("f()", "NameError")

    def test_kinds_of_functions(self):
        self.travel(
            "import contextlib, functools\nx = 3\n"
            "def twice(f):\n    @functools.wraps(f)\n    def inner(*a): return 2 * f(*a)\n"
            "    return inner\n"
            "@twice\ndef deco(v): return v + x\n"
            "async def co(): return x\ndef gen(): yield x\nasync def agen(): yield x\n"
            "part = functools.partial(deco, 1)\n"
            "@functools.lru_cache(maxsize=7)\n"
            "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
            "@contextlib.contextmanager\ndef manager(): yield x\n"
            "@functools.singledispatch\ndef kind(v): return 'other'\n"
            "@kind.register(int)\ndef kind_int(v): return 'int'\n"
            "table = {'f': lambda v: v * x}\n"
        )
        self.value("x = 4")
        self.assertEqual(self.value("deco(1), part(), table['f'](2)"), "(10, 10, 8)")
        self.assertEqual(self.value("await co(), list(gen()), [v async for v in agen()]"), "(4, [4], [4])")
        self.assertEqual(self.value("fib(30), fib.cache_info().maxsize"), "(832040, 7)")
        self.assertEqual(self.value("with manager() as m: pass\nm"), "4")
        self.assertEqual(self.value("kind(1), kind('')"), "('int', 'other')")
        self.holds("deco.__wrapped__(1) == 5 and deco.__name__ == 'deco'")

    def test_sources_come_along(self):
        self.travel("# first\ndef f():\n    return 1 / 0", "class C:\n    'c'\n    a = 1", "unused = 1")
        self.assertIn("return 1 / 0", self.error("f()", "ZeroDivisionError")["traceback"])
        self.holds("__import__('inspect').getsource(f).endswith('return 1 / 0\\n')")
        self.holds("__import__('inspect').getsource(C).startswith('class C')")
        self.assertNotIn(3, self.interpreter.sources.texts)

    def test_a_later_value_and_a_deletion_win(self):
        report = self.travel("def f(): return 1\ndef g(): return 2\nx = 1", "f = 5\ndel g, x")
        self.assertEqual(report["restored"], ["f"])
        self.assertEqual(self.value("f"), "5")
        self.error("g", "NameError")
        self.assertNotIn("hint", self.error("x", "NameError"))

    def test_functions_of_another_namespace(self):
        self.travel(
            "space = {}\nexec('y = 1\\ndef f(): return y', space)\nf = space['f']\n"
            "space['y'] = 5"
        )
        self.assertEqual(self.value("space['y'] = 6\nf()"), "6")
        self.holds("f is space['f'] and f.__globals__ is space")

    def test_the_namespace_and_the_runner_are_never_copied(self):
        self.travel(
            "import __main__ as me, sys\ng = globals()\nd = {'g': g}\nshow = display\n"
            "out = sys.stdout\np = print"
        )
        self.holds("g is globals() and d['g'] is g and me.__dict__ is g and show is display")
        self.holds("p is print")
        self.holds("out is sys.stdout")


class ClassTest(SnapshotCase):
    def test_instances_keep_their_class(self):
        self.travel(
            "class A:\n    made = 0\n    def __init__(self, v): self.v = v\n"
            "    def m(self): return self.v\n"
            "class B(A):\n    def m(self): return super().m() + 1\n"
            "a, b = A(1), B(2)\nbound = b.m\nA.me = A\nold = a\n"
        )
        self.holds("type(a) is A and isinstance(b, A) and b.m() == 3 and bound() == 3 and A.me is A")
        self.holds("old is a")
        self.assertEqual(self.value("a.v = 5\nold.m()"), "5")
        self.holds("repr(A) == \"<class '__main__.A'>\" and B(4).m() == 5")

    def test_an_instance_of_a_class_that_was_defined_again(self):
        self.travel("class A:\n    def m(self): return 1\na = A()", "class A:\n    def m(self): return 2")
        self.holds("a.m() == 1 and A().m() == 2 and type(a) is not A")

    def test_what_classes_hold(self):
        self.travel(
            "import functools\nclass C:\n    __slots__ = ('x', '__y', '__dict__')\n"
            "    def __init__(self): self.__y = 2\n"
            "    @property\n    def p(self): return self.__y\n    @p.setter\n"
            "    def p(self, v): self.__y = v\n"
            "    @staticmethod\n    def s(): return 's'\n    @classmethod\n    def c(cls): return cls\n"
            "    @functools.cached_property\n    def cached(self): return 7\n"
            "    class Inner:\n        pass\n"
            "c = C()\nc.x = 1\ni = C.Inner()\n"
        )
        self.assertEqual(self.value("c.p = 4\nc.x, c.p, c.s(), c.cached"), "(1, 4, 's', 7)")
        self.holds("c.c() is C and type(i) is C.Inner and C.Inner.__qualname__ == 'C.Inner'")

    def test_kinds_of_classes(self):
        self.travel(
            "import abc, collections, dataclasses, enum, typing\n"
            "@dataclasses.dataclass(order=True)\nclass D:\n    a: int\n"
            "    b: list = dataclasses.field(default_factory=list)\n"
            "d = D(1)\n"
            "class E(enum.Enum):\n    ONE = 1\n    TWO = 2\n    UNO = 1\n"
            "    def low(self): return self.name.lower()\ne = E.TWO\n"
            "class Planet(enum.Enum):\n    EARTH = (5, 6)\n"
            "    def __init__(self, mass, radius):\n        self.mass = mass\n"
            "class F(enum.Flag):\n    A = enum.auto()\n    B = enum.auto()\nf = F.A | F.B\n"
            "class I(enum.IntEnum):\n    X = 10\n"
            "class Shape(abc.ABC):\n    @abc.abstractmethod\n    def area(self): ...\n"
            "class Square(Shape):\n    def area(self): return 4\n"
            "class Virtual: pass\nShape.register(Virtual)\n"
            "class N(typing.NamedTuple):\n    a: int\n    b: str = 'b'\nn = N(1)\n"
            "P = collections.namedtuple('P', 'x y')\np = P(1, 2)\n"
            "T = typing.TypeVar('T')\nclass Box(typing.Generic[T]):\n    pass\nbox = Box()\n"
            "class TD(typing.TypedDict):\n    a: int\n"
            "class Err(ValueError):\n    pass\nerr = Err('no')\n"
        )
        self.holds("d == D(1) and D(1) < D(2) and d.b == []")
        self.holds("dataclasses.asdict(d) == {'a': 1, 'b': []}")
        self.value("@dataclasses.dataclass\nclass D2(D):\n    c: int = 0")
        self.holds("D2(1, c=2).c == 2 and dataclasses.fields(D)[0].default is dataclasses.MISSING")
        self.error("D2()", "TypeError")
        self.holds("e is E.TWO and E(2) is e and e.low() == 'two' and list(E) == [E.ONE, E.TWO]")
        self.holds("E.UNO is E.ONE")
        self.holds("Planet.EARTH.mass == 5 and f == F.A | F.B and I.X + 1 == 11 and F.A in f")
        self.holds("Square().area() == 4 and isinstance(Virtual(), Shape)")
        self.error("Shape()", "TypeError")
        self.holds("n == N(1) and n.b == 'b' and n._replace(a=3) == (3, 'b') and p == P(1, 2)")
        self.holds("p.y == 2")
        self.holds("type(box) is Box and str(Box[int]).endswith('Box[int]') and TD(a=1) == {'a': 1}")
        self.assertEqual(self.error("raise err", "Err")["message"], "no")

    def test_metaclasses_and_hooks_are_not_told_twice(self):
        self.travel(
            "calls = []\nclass Meta(type):\n    def __new__(m, name, bases, body, *, tag):\n"
            "        calls.append(tag)\n        return super().__new__(m, name, bases, body)\n"
            "    def __init__(cls, *a, **k): pass\n    def hello(cls): return cls.__name__\n"
            "class M(metaclass=Meta, tag=1): pass\n"
            "class Base:\n    def __init_subclass__(cls, *, key, **k):\n        calls.append(key)\n"
            "class Sub(Base, key='k'): pass\n"
        )
        self.holds("calls == [1, 'k'] and M.hello() == 'M' and issubclass(Sub, Base)")
        self.assertEqual(self.value("class More(Base, key='m'): pass\ncalls"), "[1, 'k', 'm']")

    def test_restoring_calls_what_objects_need(self):
        self.travel(
            "def helper(v): return v + 1\nclass C:\n    def __init__(self): self.v = 1\n"
            "    def __getstate__(self): return {'v': self.v}\n"
            "    def __setstate__(self, s): self.v = helper(s['v'])\nc = C()"
        )
        self.assertEqual(self.value("c.v"), "2")


class PlainValueTest(ValueTest):
    codec = PLAIN


class PlainDefinitionTest(DefinitionTest):
    codec = PLAIN


class PlainClassTest(ClassTest):
    codec = PLAIN


class EarlierVersionTest(unittest.TestCase):
    """Snapshots name classes by the modules that they were in."""

    def load(self, module, name):
        written = "ccellar_runner.{}\n{}\n.".format(module, name).encode()
        return pickling._StateUnpickler(io.BytesIO(written), buffers=None).load()

    def test_values_of_moved_classes_are_found(self):
        names = "matches.Match sections.Section displays.DisplayHandle inputs.Macro shell.SList timing.TimeitResult"
        names += " texts.Record usage.UsageError policy_report.PolicyViolation hits.Hits findings.FindingList"
        for name in names.split():
            with self.subTest(name=name):
                self.assertEqual(self.load(*name.split(".")).__name__, name.partition(".")[2])

    def test_every_module_is_where_the_table_says(self):
        for path in moved_modules.MOVED_MODULES.values():
            with self.subTest(path=path):
                self.assertIsNotNone(importlib.util.find_spec(path))


if __name__ == "__main__":
    unittest.main()
