"""Random methods: known expectations within a few standard errors, and the same bytes for the same seed."""

import json
import math
import unittest

from catalogue_case import CatalogueCase


class SamplingTest(CatalogueCase):
    file = "sampling"

    def within(self, value, expected, error, times=4):
        self.assertLess(abs(value - expected), times * error, (value, expected, error))

    def same_bytes(self, function, *args, **options):
        one, other = (json.dumps(function(*args, **options)) for _ in range(2))
        self.assertEqual(one, other)
        self.assertNotEqual(one, json.dumps(function(*args, **{**options, "seed": 1})))

    def test_monte_carlo(self):
        # The sum of 12 uniform numbers less 6 has the mean 0 and the variance 1.
        names = ["u{}".format(index) for index in range(12)]
        found = self.tools.monte_carlo(
            " + ".join(names) + " - 6", {name: {"distribution": "uniform"} for name in names}
        )
        self.within(found["mean"], 0, found["standard_error"])
        self.assertAlmostEqual(found["std"], 1, 1)
        # The points of the normal distribution in any table: 1.645 and 0.674.
        normal = self.tools.monte_carlo("x", {"x": {"distribution": "normal"}}, samples=1_000_000)
        self.assertAlmostEqual(normal["quantiles"]["0.95"], 1.645, 2)
        self.assertAlmostEqual(normal["quantiles"]["0.75"], 0.674, 2)

    def test_means_of_the_distributions(self):
        for wanted, mean in (
            ({"distribution": "uniform", "low": 2, "high": 4}, 3),
            ({"distribution": "normal", "mean": 5, "std": 2}, 5),
            ({"distribution": "lognormal", "mean": 0, "std": 0.5}, math.exp(0.125)),
            ({"distribution": "exponential", "scale": 3}, 3),
            ({"distribution": "triangular", "low": 0, "mode": 1, "high": 5}, 2),
            ({"distribution": "poisson", "mean": 4}, 4),
            ({"distribution": "bernoulli", "p": 0.25}, 0.25),
        ):
            found = self.tools.monte_carlo("x", {"x": wanted}, samples=100_000)
            self.within(found["mean"], mean, found["standard_error"])

    def test_integrals(self):
        integrate = self.tools.monte_carlo_native
        disc = integrate("where(x^2 + y^2 < 1, 1, 0)", {"x": [-1, 1], "y": [-1, 1]})
        self.within(disc["integral"], math.pi, disc["standard_error"])
        bell = integrate("exp(-x^2)", {"x": [-6, 6]}, samples=500_000)
        self.within(bell["integral"], math.sqrt(math.pi), bell["standard_error"])
        self.assertEqual(integrate("1", {"x": [0, 2], "y": [0, 3]})["integral"], 6)

    def test_mcmc(self):
        found = self.tools.mcmc("-(x - 3)^2 / 8", {"x": 0}, samples=20_000, step=4)["variables"]["x"]
        self.within(found["mean"], 3, found["standard_error"])
        self.assertAlmostEqual(found["std"], 2, 0)
        self.assertLess(abs(found["std"] - 2), 0.1)
        # A density that is 0 below 0: the exponential one has the mean 1, and no step goes below.
        found = self.tools.mcmc("log(where(x < 0, 0, 1)) - x", {"x": 1}, samples=20_000, step=2)["variables"]["x"]
        self.within(found["mean"], 1, found["standard_error"])
        self.assertGreater(found["quantiles"]["0.05"], 0)

    def test_equal_input_gives_equal_bytes(self):
        self.same_bytes(
            self.tools.monte_carlo, "x * y", {"x": {"distribution": "normal"}, "y": {"distribution": "poisson"}}
        )
        self.same_bytes(self.tools.monte_carlo_native, "x", {"x": [0, 1]})
        self.same_bytes(self.tools.mcmc, "-x^2", {"x": 0}, samples=200)

    def test_the_order_of_names_does_not_matter(self):
        x, y = {"distribution": "normal"}, {"distribution": "uniform"}
        one = self.tools.monte_carlo("x - y", {"x": x, "y": y})
        self.assertEqual(one, self.tools.monte_carlo("x - y", {"y": y, "x": x}))

    def test_bad_input(self):
        run, uniform = self.tools.monte_carlo, {"x": {"distribution": "uniform"}}
        self.refuses("unknown name y; known are x", run, "x + y", uniform)
        self.refuses("must be one of uniform, normal", run, "x", {"x": {"distribution": "gauss"}})
        self.refuses("normal has mean, std, not sigma", run, "x", {"x": {"distribution": "normal", "sigma": 1}})
        self.refuses("samples must be a whole number", run, "x", uniform, samples=0)
        self.refuses("seed must be a whole number", run, "x", uniform, seed=-1)
        self.refuses("not defined for some", run, "log(x - 1)", uniform)
        self.refuses("variables must be an object", run, "1", {})
        self.refuses("smaller to a larger", self.tools.monte_carlo_native, "x", {"x": [1, 0]})
        self.refuses("2 to 2 numbers", self.tools.monte_carlo_native, "x", {"x": [1]})
        self.refuses("not defined everywhere", self.tools.monte_carlo_native, "1/(x-x)", {"x": [0, 1]})
        self.refuses("not defined at the start", self.tools.mcmc, "log(x)", {"x": -1})
        self.refuses("step must be more than 0", self.tools.mcmc, "-x^2", {"x": 0}, step=0)


if __name__ == "__main__":
    unittest.main()
