"""Random methods. Each has a seed: equal input gives equal bytes."""

import math

import numpy

from .arrays import Function
from .inputs import choice, interval, mapping, number, numbers, whole

MOST_SAMPLES = 5_000_000
MOST_STEPS = 200_000
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)

#: The parameters of each distribution, with their defaults, and how it is drawn.
DISTRIBUTIONS = {
    "uniform": ({"low": 0.0, "high": 1.0}, lambda random, size, p: random.uniform(p["low"], p["high"], size)),
    "normal": ({"mean": 0.0, "std": 1.0}, lambda random, size, p: random.normal(p["mean"], p["std"], size)),
    "lognormal": ({"mean": 0.0, "std": 1.0}, lambda random, size, p: random.lognormal(p["mean"], p["std"], size)),
    "exponential": ({"scale": 1.0}, lambda random, size, p: random.exponential(p["scale"], size)),
    "triangular": (
        {"low": 0.0, "mode": 0.5, "high": 1.0},
        lambda random, size, p: random.triangular(p["low"], p["mode"], p["high"], size),
    ),
    "poisson": ({"mean": 1.0}, lambda random, size, p: random.poisson(p["mean"], size)),
    "bernoulli": ({"p": 0.5}, lambda random, size, p: random.random(size) < p["p"]),
}


def _random(seed):
    return numpy.random.Generator(numpy.random.PCG64(whole(seed, "seed", 0, 2**63 - 1)))


def _draw(random, name, wanted, size):
    given = dict(mapping(wanted, "variables." + name, 1, 10))
    kind = choice(given.pop("distribution", "uniform"), "variables.{}.distribution".format(name), DISTRIBUTIONS)
    defaults, draw = DISTRIBUTIONS[kind]
    unknown = set(given) - set(defaults)
    if unknown:
        known = ", ".join(defaults)
        raise ValueError("variables.{}: {} has {}, not {}".format(name, kind, known, min(unknown)))
    parameters = {
        key: number(given.get(key, value), "variables.{}.{}".format(name, key)) for key, value in defaults.items()
    }
    return draw(random, size, parameters)


def monte_carlo(expression, variables, samples=10_000, seed=0) -> dict:
    """What a formula gives if its inputs are random."""
    size = whole(samples, "samples", 2, MOST_SAMPLES)
    random = _random(seed)
    wanted = mapping(variables, "variables")
    function = Function(expression, wanted)
    # In the order of the alphabet, so that the order of the object does not matter.
    drawn = {name: _draw(random, name, wanted[name], size) for name in sorted(wanted)}
    values = numpy.broadcast_to(function(drawn), (size,))
    if not numpy.isfinite(values).all():
        raise ValueError("{!r} is not defined for some of the inputs".format(expression))
    deviation = float(values.std(ddof=1))
    return {
        "mean": float(values.mean()),
        "std": deviation,
        "standard_error": deviation / math.sqrt(size),
        "min": float(values.min()),
        "max": float(values.max()),
        "quantiles": {str(share): float(numpy.quantile(values, share)) for share in SHARES},
        "samples": size,
        "seed": seed,
    }


def monte_carlo_native(expression, bounds, samples=100_000, seed=0) -> dict:
    """The integral of a formula over a box, by random points in numpy's compiled loops."""
    size = whole(samples, "samples", 2, MOST_SAMPLES)
    random = _random(seed)
    box = {name: _pair(pair, "bounds." + name) for name, pair in mapping(bounds, "bounds").items()}
    function = Function(expression, box)
    points = {name: random.uniform(*box[name], size) for name in sorted(box)}
    values = numpy.broadcast_to(function(points), (size,))
    if not numpy.isfinite(values).all():
        raise ValueError("{!r} is not defined everywhere within the bounds".format(expression))
    volume = math.prod(high - low for low, high in box.values())
    return {
        "integral": volume * float(values.mean()),
        "standard_error": volume * float(values.std(ddof=1)) / math.sqrt(size),
        "volume": volume,
        "samples": size,
        "seed": seed,
    }


def _pair(value, name):
    low, high = numbers(value, name, 2, 2)
    return interval(low, high, name)


def mcmc(log_density, start, samples=10_000, burn_in=1_000, step=1.0, seed=0) -> dict:
    """Sample a density that is known but for its scale, by Metropolis's random walk."""
    size = whole(samples, "samples", 10, MOST_STEPS)
    warm = whole(burn_in, "burn_in", 0, MOST_STEPS)
    if number(step, "step") <= 0:
        raise ValueError("step must be more than 0, not {}".format(step))
    names = sorted(mapping(start, "start", 1, 20))
    function = Function(log_density, names)
    random = _random(seed)
    here = numpy.array([float(number(start[name], "start." + name)) for name in names])
    level = float(function(dict(zip(names, here))))
    if not math.isfinite(level):
        raise ValueError("{!r} is not defined at the start".format(log_density))
    chain = numpy.empty((size, len(names)))
    accepted = 0
    for turn in range(-warm, size):
        there = here + random.normal(0.0, step, len(names))
        luck = math.log(1.0 - random.random())
        height = float(function(dict(zip(names, there))))
        # A comparison with what is not a number is false: such a place is never entered.
        if luck < height - level:
            here, level = there, height
            accepted += turn >= 0
        if turn >= 0:
            chain[turn] = here
    return {
        "variables": {name: _summary(chain[:, index]) for index, name in enumerate(names)},
        "acceptance": accepted / size,
        "samples": size,
        "seed": seed,
    }


def _summary(values):
    deviation = float(values.std(ddof=1))
    effective = _effective(values)
    return {
        "mean": float(values.mean()),
        "std": deviation,
        "standard_error": deviation / math.sqrt(effective),
        "effective_samples": effective,
        "quantiles": {str(share): float(numpy.quantile(values, share)) for share in SHARES},
    }


def _effective(values):
    """How many independent samples tell as much: the autocorrelation is summed until it is gone."""
    off = values - values.mean()
    size = len(off)
    if not off.any():
        return 1.0
    waves = numpy.fft.rfft(off, 2 * size)
    correlation = numpy.fft.irfft(waves * waves.conj())[:size]
    correlation /= correlation[0]
    total = 1.0
    for lag in range(1, size - 1, 2):
        pair = correlation[lag] + correlation[lag + 1]
        if pair <= 0:
            break
        total += 2 * pair
    return float(min(size, size / total))
