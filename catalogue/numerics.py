"""Differential equations and optimisation, with scipy and scikit-learn."""

import math

import numpy
from scipy import integrate
from scipy import optimize as optimisation

from .arrays import Function
from .inputs import choice, interval, mapping, number, numbers, whole

ODE_METHODS = ("RK45", "DOP853", "Radau", "BDF", "LSODA")
OPTIMIZERS = ("auto", "Nelder-Mead", "Powell", "BFGS", "L-BFGS-B", "SLSQP")
MOST_CALLS = 200_000


def solve_ode(equations, initial, t_start=0.0, t_end=1.0, points=11, method="LSODA", tolerance=1e-9) -> dict:
    """The course of a system y' = f(t, y) from a start."""
    names = list(mapping(equations, "equations"))
    if set(mapping(initial, "initial")) != set(names):
        raise ValueError("initial must have a number for each of {}".format(", ".join(names)))
    first, last = interval(t_start, t_end, "t_start to t_end")
    times = numpy.linspace(first, last, whole(points, "points", 2, 10_000))
    choice(method, "method", ODE_METHODS)
    if not 1e-13 <= number(tolerance, "tolerance") <= 0.1:
        raise ValueError("tolerance must be from 1e-13 to 0.1, not {}".format(tolerance))
    functions = [Function(equations[name], [*names, "t"]) for name in names]
    calls = [0]

    def slope(time, state):
        calls[0] += 1
        if calls[0] > MOST_CALLS:
            raise ValueError("the equations need more than {:,} evaluations; try Radau".format(MOST_CALLS))
        values = {**dict(zip(names, state)), "t": time}
        return [float(function(values)) for function in functions]

    begin = [float(number(initial[name], "initial." + name)) for name in names]
    solved = integrate.solve_ivp(
        slope, (first, last), begin, method=method, t_eval=times, rtol=tolerance, atol=tolerance * 1e-3
    )
    if not solved.success or not numpy.isfinite(solved.y).all():
        raise ValueError("the equations cannot be followed to t = {}: {}".format(last, solved.message))
    return {
        "t": solved.t.tolist(),
        **{"y": {name: solved.y[index].tolist() for index, name in enumerate(names)}},
        "final": {name: float(solved.y[index, -1]) for index, name in enumerate(names)},
        "evaluations": int(solved.nfev),
    }


def optimize(expression, start, bounds=None, maximize=False, method="auto") -> dict:
    """The smallest value of a formula near a start, or the largest."""
    names = sorted(mapping(start, "start", 1, 50))
    choice(method, "method", OPTIMIZERS)
    function = Function(expression, names)
    sign = -1.0 if maximize else 1.0
    limits = _limits(bounds, names)
    begin = numpy.array([float(number(start[name], "start." + name)) for name in names])
    if not math.isfinite(float(function(dict(zip(names, begin))))):
        raise ValueError("{!r} is not defined at the start".format(expression))

    def cost(point):
        value = sign * float(function(dict(zip(names, point))))
        return value if math.isfinite(value) else math.inf

    chosen = ("L-BFGS-B" if limits else "BFGS") if method == "auto" else method
    found = optimisation.minimize(cost, begin, method=chosen, bounds=limits)
    if method == "auto" and not found.success:
        # A method without slopes takes over where they mislead.
        other = optimisation.minimize(cost, found.x, method="Nelder-Mead", bounds=limits, options={"maxiter": 5_000})
        found, chosen = (other, "Nelder-Mead") if other.fun <= found.fun else (found, chosen)
    return {
        "x": {name: float(value) for name, value in zip(names, found.x)},
        "value": sign * float(found.fun),
        "converged": bool(found.success),
        "method": chosen,
        "evaluations": int(found.nfev),
    }


def _limits(bounds, names):
    if bounds is None:
        return None
    if not set(mapping(bounds, "bounds")) <= set(names):
        raise ValueError("bounds must be for the variables {}".format(", ".join(names)))
    return [_pair(bounds[name], "bounds." + name) if name in bounds else (None, None) for name in names]


def _pair(value, name):
    low, high = numbers(value, name, 2, 2)
    return interval(low, high, name)


def bayesopt(expression, bounds, iterations=25, initial=8, maximize=False, seed=0) -> dict:
    """The smallest value of a formula that may be looked at only a few times."""
    from scipy.stats import norm, qmc

    names = sorted(mapping(bounds, "bounds", 1, 10))
    box = numpy.array([_pair(bounds[name], "bounds." + name) for name in names])
    rounds = whole(iterations, "iterations", 1, 200)
    begin = whole(initial, "initial", 2, 100)
    function = Function(expression, names)
    sign = -1.0 if maximize else 1.0
    # In a unit box all variables have one scale.
    sampler = qmc.Halton(len(names), seed=whole(seed, "seed", 0, 2**32 - 1))
    seen = sampler.random(begin)
    costs = numpy.array([_cost(function, names, box, point, sign) for point in seen])
    for _ in range(rounds):
        model = _model(len(names)).fit(seen, costs)
        best = seen[costs.argmin()]
        near = numpy.clip(best + 0.05 * norm.ppf(numpy.clip(sampler.random(256), 1e-9, 1 - 1e-9)), 0, 1)
        candidates = numpy.vstack([sampler.random(1024), near])
        mean, deviation = model.predict(candidates, return_std=True)
        gap = costs.min() - mean
        score = gap / numpy.maximum(deviation, 1e-12)
        gain = gap * norm.cdf(score) + deviation * norm.pdf(score)
        point = candidates[gain.argmax()]
        seen = numpy.vstack([seen, point])
        costs = numpy.append(costs, _cost(function, names, box, point, sign))
    least = int(costs.argmin())
    place = box[:, 0] + seen[least] * (box[:, 1] - box[:, 0])
    return {
        "x": {name: float(value) for name, value in zip(names, place)},
        "value": sign * float(costs[least]),
        "evaluations": len(costs),
        "found_at": least + 1,
        "seed": seed,
    }


def _cost(function, names, box, point, sign):
    place = box[:, 0] + point * (box[:, 1] - box[:, 0])
    value = float(function(dict(zip(names, place))))
    if not math.isfinite(value):
        raise ValueError("{!r} is not defined everywhere within the bounds".format(function.text))
    return sign * value


def _model(size):
    """A Gaussian process whose length scales follow the data."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor, kernels

    warnings.simplefilter("ignore", ConvergenceWarning)
    kernel = kernels.ConstantKernel(1.0, (1e-3, 1e4)) * kernels.Matern([0.3] * size, (0.01, 10.0), nu=2.5)
    return GaussianProcessRegressor(kernel, alpha=1e-8, normalize_y=True, random_state=0)
