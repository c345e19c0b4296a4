"""Differential equations and optimisation against published solutions."""

import json
import math
import unittest

from catalogue_case import CatalogueCase


class NumericsTest(CatalogueCase):
    file = "numerics"

    def test_oscillator(self):
        found = self.tools.solve_ode({"x": "v", "v": "-x"}, {"x": 1, "v": 0}, 0, 2 * math.pi, points=5)
        for time, x in zip(found["t"], found["y"]["x"]):
            self.assertAlmostEqual(x, math.cos(time), 7)

    def test_decay_with_every_method(self):
        for method in ("RK45", "DOP853", "Radau", "BDF", "LSODA"):
            final = self.tools.solve_ode({"x": "-2 x t"}, {"x": 1}, method=method)["final"]
            self.assertAlmostEqual(final["x"], math.exp(-1), 6, method)

    def test_robertson(self):
        # Robertson's stiff reaction of 1966; the values are those of SUNDIALS' example at t = 4.
        found = self.tools.solve_ode(
            {"a": "-0.04a + 1e4 b c", "b": "0.04a - 1e4 b c - 3e7 b^2", "c": "3e7 b^2"},
            {"a": 1, "b": 0, "c": 0},
            t_end=4,
            method="Radau",
        )["final"]
        self.near(found["a"], 9.0551e-01, 1e-4)
        self.near(found["b"], 2.2403e-05, 1e-4)
        self.near(found["c"], 9.4466e-02, 1e-4)

    def test_optimize(self):
        # Rosenbrock's valley from its usual start; Himmelblau's nearest minimum; Booth's function.
        for expression, start, place, value in (
            ("(1 - x)^2 + 100 (y - x^2)^2", {"x": -1.2, "y": 1}, {"x": 1, "y": 1}, 0),
            ("(x^2 + y - 11)^2 + (x + y^2 - 7)^2", {"x": 3, "y": 1}, {"x": 3, "y": 2}, 0),
            ("(x + 2y - 7)^2 + (2x + y - 5)^2", {"x": 0, "y": 0}, {"x": 1, "y": 3}, 0),
        ):
            for method in ("auto", "Nelder-Mead"):
                found = self.tools.optimize(expression, start, method=method)
                self.assertAlmostEqual(found["value"], value, 6)
                for name, expected in place.items():
                    self.assertAlmostEqual(found["x"][name], expected, 3)

    def test_bounds_and_maxima(self):
        found = self.tools.optimize("x (10 - x)", {"x": 1}, maximize=True)
        self.assertAlmostEqual(found["x"]["x"], 5, 4)
        self.assertAlmostEqual(found["value"], 25, 6)
        held = self.tools.optimize("x^2", {"x": 3}, bounds={"x": [2, 5]})
        self.assertEqual((held["x"], held["value"]), ({"x": 2}, 4))

    def test_bayesopt(self):
        self.needs("sklearn")
        # Forrester's function has its minimum -6.02074 at 0.757249, Branin's 0.397887.
        found = self.tools.bayesopt("(6x - 2)^2 * sin(12x - 4)", {"x": [0, 1]}, iterations=15)
        self.assertAlmostEqual(found["value"], -6.02074, 3)
        self.assertAlmostEqual(found["x"]["x"], 0.757249, 2)
        branin = "(y - 5.1/(4pi^2) x^2 + 5/pi x - 6)^2 + 10 (1 - 1/(8pi)) cos(x) + 10"
        found = self.tools.bayesopt(branin, {"x": [-5, 10], "y": [0, 15]}, iterations=30)
        self.assertLess(found["value"], 0.3979 + 0.05)
        self.assertEqual(found["evaluations"], 38)

    def test_equal_input_gives_equal_bytes(self):
        self.needs("sklearn")
        one, other = (json.dumps(self.tools.bayesopt("(x - 2)^2", {"x": [0, 5]}, iterations=4)) for _ in range(2))
        self.assertEqual(one, other)
        self.assertNotEqual(one, json.dumps(self.tools.bayesopt("(x - 2)^2", {"x": [0, 5]}, iterations=4, seed=9)))

    def test_bad_input(self):
        solve, optimize = self.tools.solve_ode, self.tools.optimize
        self.refuses("a number for each of x, v", solve, {"x": "v", "v": "-x"}, {"x": 1})
        self.refuses("unknown name k", solve, {"x": "-k x"}, {"x": 1})
        self.refuses("smaller to a larger", solve, {"x": "x"}, {"x": 1}, 1, 0)
        self.refuses("method must be one of", solve, {"x": "x"}, {"x": 1}, method="Euler")
        self.refuses("cannot be followed|evaluations", solve, {"x": "x^2"}, {"x": 1}, t_end=2, method="RK45")
        self.refuses("not defined at the start", optimize, "log(x)", {"x": -1})
        self.refuses("bounds must be for the variables x", optimize, "x^2", {"x": 1}, bounds={"y": [0, 1]})
        self.refuses("method must be one of", optimize, "x^2", {"x": 1}, method="magic")
        self.refuses("start must be an object", optimize, "1", {})
        self.refuses("not defined everywhere", self.tools.bayesopt, "log(x)", {"x": [-1, 0]})
        self.refuses("iterations must be", self.tools.bayesopt, "x", {"x": [0, 1]}, iterations=10**6)


if __name__ == "__main__":
    unittest.main()
