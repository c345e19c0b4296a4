"""Algebra with sympy. Formulas are built symbol by symbol: sympy's own parser would run them as code."""

import operator

import sympy

from .expressions import Formula

MOST_EQUATIONS = 20
LARGEST_POWER = 200

FUNCTIONS = {
    name: getattr(sympy, name)
    for name in "sin cos tan asin acos atan atan2 sinh cosh tanh sqrt exp log factorial gamma erf".split()
}
FUNCTIONS.update({"ln": sympy.log, "abs": sympy.Abs, "log10": lambda value: sympy.log(value, 10)})
CONSTANTS = {"pi": sympy.pi, "e": sympy.E, "E": sympy.E, "I": sympy.I}

RULES = (
    ("cancel common factors", sympy.cancel),
    ("combine into one fraction", sympy.together),
    ("use trigonometric identities", sympy.trigsimp),
    ("combine powers", sympy.powsimp),
    ("simplify radicals", sympy.radsimp),
    ("combine logarithms", sympy.logcombine),
    ("factor", sympy.factor),
    ("simplify", sympy.simplify),
)


def _exact(value):
    return sympy.Rational(str(value)) if isinstance(value, float) else sympy.Integer(value)


def _power(base, exponent):
    if exponent.is_Integer and abs(int(exponent)) > LARGEST_POWER and not base.is_Symbol:
        raise ValueError("a power of {} is larger than {}".format(exponent, LARGEST_POWER))
    return operator.pow(base, exponent)


def _parse(text):
    formula = Formula(text, FUNCTIONS)
    names = {name: CONSTANTS.get(name, sympy.Symbol(name)) for name in formula.names()}
    value = formula.value(names, _exact, _power)
    if not isinstance(value, sympy.Expr):
        raise ValueError("{!r} is no expression".format(text))
    if value.has(sympy.zoo, sympy.nan):
        raise ValueError("{!r} divides by zero".format(text))
    return value


def _written(value):
    return str(value).replace("**", "^").replace(" + ", "+").replace(" - ", "-")


def _cost(value):
    return (sympy.count_ops(value), len(str(value)))


def math_simplify(expression) -> dict:
    """Rewrite an expression as short as it gets, and say how."""
    current = _parse(expression)
    steps = ["read as {}".format(_written(current))]
    for _ in range(6):
        best = _best_step(current)
        if best is None:
            break
        for name, current in best:
            steps.append("{}: {}".format(name, _written(current)))
    return {"simplified": _written(current), "steps": steps}


def _best_step(current):
    """The rule, or the expansion and a rule after it, that makes it shortest."""
    best, least = None, _cost(current)
    expanded = sympy.expand(current)
    starts = [(current, [])]
    if expanded != current:
        starts.append((expanded, [("expand", expanded)]))
        if _cost(expanded) < least:
            best, least = [("expand", expanded)], _cost(expanded)
    for start, before in starts:
        for name, rule in RULES:
            result = rule(start)
            if _cost(result) < least:
                best, least = [*before, (name, result)], _cost(result)
    return best


def symbolic_solve(equations, variables=None) -> dict:
    """Solve an equation, or several, exactly."""
    texts = [equations] if isinstance(equations, str) else equations
    if not isinstance(texts, list) or not 0 < len(texts) <= MOST_EQUATIONS:
        raise ValueError("equations must be a text or a list of 1 to {} texts".format(MOST_EQUATIONS))
    parsed = [_equation(text) for text in texts]
    found = sorted({symbol.name for one in parsed for symbol in one.free_symbols})
    names = [variables] if isinstance(variables, str) else variables or found
    if not found or not set(names) <= set(found):
        raise ValueError("the variables are {}, not {}".format(", ".join(found) or "none", names))
    try:
        solutions = sympy.solve(parsed, [sympy.Symbol(name) for name in names], dict=True)
    except NotImplementedError as error:
        raise ValueError("no exact solution was found: {}".format(error)) from None
    ordered = sorted(solutions, key=lambda one: [sympy.default_sort_key(one.get(sympy.Symbol(n), 0)) for n in names])
    return {
        "solutions": [{str(key): _written(value) for key, value in _ordered(one)} for one in ordered],
        "numeric": [{str(key): _float(value) for key, value in _ordered(one)} for one in ordered],
    }


def _equation(text):
    if not isinstance(text, str):
        raise ValueError("an equation must be a text such as 'x^2 = 4'")
    sides = text.split("=")
    if len(sides) > 2:
        raise ValueError("{!r} has more than one =".format(text))
    return _parse(sides[0]) - (_parse(sides[1]) if len(sides) == 2 else 0)


def _ordered(solution):
    return sorted(solution.items(), key=lambda pair: str(pair[0]))


def _float(value):
    if value.free_symbols:
        return None
    number = complex(value.evalf(17))
    return number.real if number.imag == 0 else number
