"""Formulas as people write them (`2x^2 + sin(x)`), read by a parser of their own; nothing is handed to eval."""

import ast
import operator
import re

LONGEST = 4_000
DEEPEST = 100

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_SIGN = r"\*\*|//|<=|>=|==|!=|[-+*/%^(),<>]"
_TOKEN = re.compile(r"\s*(?:({})|([^\W\d]\w*)|({}))".format(_NUMBER, _SIGN))
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARISONS = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class Formula:
    """A parsed formula, to be evaluated with functions and values of any kind: floats, arrays, symbols."""

    def __init__(self, text, functions):
        if not isinstance(text, str) or not text.strip():
            raise ValueError("an expression must be a text such as 'x^2 + 1'")
        if len(text) > LONGEST:
            raise ValueError("the expression has {} characters; {} are the most".format(len(text), LONGEST))
        self.text = text
        self.functions = functions
        try:
            self.tree = ast.parse(_spelled_out(text, functions), mode="eval").body
        except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
            raise ValueError("cannot read the expression {!r}: {}".format(text, _reason(error))) from None
        _check(self.tree, text, functions)

    def names(self) -> list:
        """The variables, in the order of the alphabet."""
        calls = {id(node.func) for node in ast.walk(self.tree) if isinstance(node, ast.Call)}
        found = (node for node in ast.walk(self.tree) if isinstance(node, ast.Name) and id(node) not in calls)
        return sorted({node.id for node in found})

    def value(self, names, number=lambda value: value, power=operator.pow) -> object:
        """The value, where each name has the value that is given for it."""
        return self._value(self.tree, names, number, power)

    def _value(self, node, names, number, power):
        def inner(one):
            return self._value(one, names, number, power)

        if isinstance(node, ast.Constant):
            return number(node.value)
        if isinstance(node, ast.Name):
            if node.id not in names:
                raise ValueError("{!r} has no value; known are {}".format(node.id, ", ".join(sorted(names)) or "none"))
            return names[node.id]
        if isinstance(node, ast.UnaryOp):
            return -inner(node.operand) if isinstance(node.op, ast.USub) else inner(node.operand)
        if isinstance(node, ast.BinOp):
            act = power if isinstance(node.op, ast.Pow) else _OPERATORS[type(node.op)]
            return act(inner(node.left), inner(node.right))
        if isinstance(node, ast.Compare):
            return _COMPARISONS[type(node.ops[0])](inner(node.left), inner(node.comparators[0]))
        return self.functions[node.func.id](*[inner(one) for one in node.args])


def _reason(error):
    return getattr(error, "msg", None) or str(error) or "it is nested too deep"


def _tokens(text):
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError("unexpected {!r}".format(text[at:].strip()[0]))
        at = found.end()
        yield ("number", found[1]) if found[1] else ("name", found[2]) if found[2] else ("sign", found[3])


def _spelled_out(text, functions):
    """Python's way of writing it: `^` is a power, and `2x` a product."""
    words = []
    before = None
    for kind, word in _tokens(text):
        ends = before is not None and (before[0] != "sign" or before[1] == ")")
        begins = kind != "sign" or word == "("
        is_call = word == "(" and before is not None and before[0] == "name" and before[1] in functions
        if ends and begins and not is_call:
            if before[0] == "number" and kind == "number":
                raise ValueError("two numbers without an operator between them")
            words.append("*")
        if kind == "number":
            whole = word.isdigit()
            words.append(str(int(word)) if whole else word)
        else:
            words.append("**" if word == "^" else word)
        before = (kind, word)
    return " ".join(words)


def _check(tree, text, functions):
    """Only what is known here may be in it, and not too deep."""
    todo = [(tree, 0)]
    while todo:
        node, depth = todo.pop()
        if depth > DEEPEST:
            raise ValueError("the expression is nested too deep")
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in functions or node.keywords:
                raise ValueError("{!r} calls something that is no function here".format(text))
            children = node.args
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            children = [node.left, node.right]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            children = [node.operand]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
            children = [node.left, node.comparators[0]]
        elif isinstance(node, ast.Name):
            if node.id in functions:
                raise ValueError("the function {0} needs its argument: {0}(x)".format(node.id))
            children = []
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            children = []
        else:
            raise ValueError("{!r} has something that is no arithmetic".format(text))
        todo += [(child, depth + 1) for child in children]
