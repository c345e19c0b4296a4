"""statistics against NIST's Statistical Reference Datasets (StRD): certified values of mean, deviation, lag-1
autocorrelation and linear regression."""

import unittest

from catalogue_case import CatalogueCase

#: Michelson's 100 measurements of the speed of light in 1879, in thousands of km/s above 299.
MICHELSO = (
    "850 740 900 1070 930 850 950 980 980 880 1000 980 930 650 760 810 1000 1000 960 960 "
    "960 940 960 940 880 800 850 880 900 840 830 790 810 880 880 830 800 790 760 800 "
    "880 880 880 860 720 720 620 860 970 950 880 910 850 870 840 840 850 840 840 840 "
    "890 810 810 820 800 770 760 740 750 760 910 920 890 860 880 720 840 850 850 780 "
    "890 840 780 810 760 810 790 810 820 850 870 870 810 740 810 940 950 800 810 870"
)

#: Longley's data on employment: y and six predictors, for 16 years.
LONGLEY = """
60323 83.0 234289 2356 1590 107608 1947
61122 88.5 259426 2325 1456 108632 1948
60171 88.2 258054 3682 1616 109773 1949
61187 89.5 284599 3351 1650 110929 1950
63221 96.2 328975 2099 3099 112075 1951
63639 98.1 346999 1932 3594 113270 1952
64989 99.0 365385 1870 3547 115094 1953
63761 100.0 363112 3578 3350 116219 1954
66019 101.2 397469 2904 3048 117388 1955
67857 104.6 419180 2822 2857 118734 1956
68169 108.4 442769 2936 2798 120445 1957
66513 110.8 444546 4681 2637 121950 1958
68655 112.6 482704 3813 2552 123366 1959
69564 114.2 502601 3931 2514 125368 1960
69331 115.7 518173 4806 2572 127852 1961
70551 116.9 554894 4007 2827 130081 1962
"""

#: The certified estimate and its standard deviation, for the intercept and each predictor.
LONGLEY_CERTIFIED = (
    (-3482258.63459582, 890420.383607373),
    (15.0618722713733, 84.9149257747669),
    (-0.358191792925910e-01, 0.334910077722432e-01),
    (-2.02022980381683, 0.488399681651699),
    (-1.03322686717359, 0.214274163161675),
    (-0.511041056535807e-01, 0.226073200069370),
    (1829.15146461355, 455.478499142212),
)


class StatisticsTest(CatalogueCase):
    file = "statistics"

    def setUp(self):
        self.needs("scipy")

    def certified(self, values, mean, deviation, autocorrelation, relative=1e-12):
        found = self.tools.statistics(values)
        self.near(found["mean"], mean, 1e-14)
        self.near(found["std"], deviation, relative)
        self.near(found["autocorrelation"], autocorrelation, relative)

    def test_michelso(self):
        values = [round(299 + int(one) / 1000, 2) for one in MICHELSO.split()]
        self.certified(values, 299.852400000000, 0.790105478190518e-01, 0.535199668621283, 1e-11)

    def test_numerical_accuracy(self):
        self.certified([10000001, 10000003, 10000002], 10000002, 1, -0.5)
        # The tenths of the second to fourth are not binary numbers: so far their digits reach.
        for base, relative in ((1, 1e-12), (1000000, 1e-8), (10000000, 1e-7)):
            values = [base + 0.2] + [base + 0.1, base + 0.3] * 500
            self.certified(values, base + 0.2, 0.1, -0.999, relative)

    def test_longley(self):
        self.needs("statsmodels")
        rows = [[float(cell) for cell in line.split()] for line in LONGLEY.split("\n") if line]
        columns = list(zip(*rows))
        predictors = {"x{}".format(index): list(column) for index, column in enumerate(columns[1:], 1)}
        fit = self.tools.statistics(list(columns[0]), predictors)
        self.assertEqual([one["name"] for one in fit["coefficients"]], ["intercept", *predictors])
        for one, (estimate, error) in zip(fit["coefficients"], LONGLEY_CERTIFIED):
            self.near(one["estimate"], estimate, 1e-10)
            self.near(one["standard_error"], error, 1e-10)
        self.near(fit["residual_std"], 304.854073561965, 1e-11)
        self.near(fit["r_squared"], 0.995479004577296, 1e-11)
        self.near(fit["f"], 330.285339234588, 1e-10)

    def test_small_textbook_values(self):
        found = self.tools.statistics([2, 4, 4, 4, 5, 5, 7, 9])
        self.assertEqual((found["mean"], found["median"], found["sum"]), (5, 4.5, 40))
        self.near(found["variance"], 32 / 7)
        # Student's 97.5 % point for 7 degrees of freedom, as printed in tables: 2.365.
        half = found["confidence_interval"][1] - found["mean"]
        self.assertAlmostEqual(half / found["standard_error"], 2.365, 3)
        self.assertEqual(
            self.tools.statistics([3]),
            {"count": 1, "mean": 3.0, "median": 3.0, "min": 3.0, "max": 3.0, "q1": 3.0, "q3": 3.0, "sum": 3.0},
        )

    def test_bad_input(self):
        statistics = self.tools.statistics
        self.refuses("1 to 1,000,000 numbers", statistics, [])
        self.refuses("list of numbers, not str", statistics, "1, 2")
        self.refuses(r"values\[1\] must be a finite number", statistics, [1, float("nan")])
        self.refuses(r"values\[0\] must be a finite number, not True", statistics, [True])
        self.refuses("between 0 and 1", statistics, [1, 2], None, 95)
        self.needs("statsmodels")
        self.refuses("an object of lists", statistics, [1, 2, 3], [1, 2, 3])
        self.refuses("must have 3 numbers", statistics, [1, 2, 3], {"x": [1, 2]})
        self.refuses("too few", statistics, [1, 2], {"x": [1, 2]})


if __name__ == "__main__":
    unittest.main()
