"""Matrices against matrices whose answers are published."""

import math
import unittest

from catalogue_case import CatalogueCase

#: Rosser's test matrix of 1951, with two equal eigenvalues, two close ones, and one that is 0.
ROSSER = [
    [611, 196, -192, 407, -8, -52, -49, 29],
    [196, 899, 113, -192, -71, -43, -8, -44],
    [-192, 113, 899, 196, 61, 49, 8, 52],
    [407, -192, 196, 611, 8, 44, 59, -23],
    [-8, -71, 61, 8, 411, -599, 208, 208],
    [-52, -43, 49, 44, -599, 411, 208, 208],
    [-49, -8, 8, 59, 208, 208, 99, -911],
    [29, -44, 52, -23, 208, 208, -911, 99],
]


class LinearAlgebraTest(CatalogueCase):
    file = "linear_algebra"

    def test_solve(self):
        # The first problem of the Nine Chapters' book on systems: 9 1/4, 4 1/4 and 2 3/4.
        found = self.tools.matrix_solve([[3, 2, 1], [2, 3, 1], [1, 2, 3]], [39, 34, 26])
        for value, expected in zip(found["x"], (9.25, 4.25, 2.75)):
            self.near(value, expected)
        self.assertEqual(found["method"], "lu")

    def test_inverse_of_the_hilbert_matrix(self):
        hilbert = [[1 / (row + column + 1) for column in range(3)] for row in range(3)]
        unit = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
        inverse = self.tools.matrix_solve(hilbert, unit)["x"]
        for row, expected in zip(inverse, ([9, -36, 30], [-36, 192, -180], [30, -180, 180])):
            for value, whole in zip(row, expected):
                self.near(value, whole, 1e-11)
        # Its condition number is known: 524.0567775860644.
        self.near(self.tools.matrix_solve(hilbert, [1, 1, 1])["condition"], 524.0567775860644, 1e-10)

    def test_least_squares(self):
        # The line through (0, 6), (1, 0), (2, 0) that is nearest is 5 - 3 t (Strang).
        found = self.tools.matrix_solve([[1, 0], [1, 1], [1, 2]], [6, 0, 0])
        self.assertEqual(found["method"], "least squares")
        self.near(found["x"][0], 5)
        self.near(found["x"][1], -3)
        self.near(found["residual"], math.sqrt(6))

    def test_eigenvalues(self):
        root = 10 * math.sqrt(10405)
        expected = sorted([-root, 0, 510 - 100 * math.sqrt(26), 1000, 1000, 510 + 100 * math.sqrt(26), 1020, root])
        for value, known in zip(self.tools.matrix_eigenvalues(ROSSER)["eigenvalues"], expected):
            self.assertAlmostEqual(value, known, 9)
        turned = self.tools.matrix_eigenvalues([[0, -1], [1, 0]])
        self.assertEqual(turned["eigenvalues"], [-1j, 1j])
        self.near(self.tools.matrix_eigenvalues([[4, 1], [2, 3]])["determinant"], 10)

    def test_eigenvectors(self):
        found = self.tools.matrix_eigenvalues([[2, 1], [1, 2]], vectors=True)
        half = math.sqrt(0.5)
        for vector, expected in zip(found["eigenvectors"], ((half, -half), (half, half))):
            for part, known in zip(vector, expected):
                self.near(part, known)

    def test_singular_values(self):
        found = self.tools.matrix_svd([[3, 0], [4, 5]], vectors=True)
        self.near(found["singular_values"][0], math.sqrt(45))
        self.near(found["singular_values"][1], math.sqrt(5))
        self.near(found["condition"], 3)
        for row in range(2):
            for column in range(2):
                parts = zip(found["u"][row], found["singular_values"], [line[column] for line in found["vt"]])
                product = sum(left * value * right for left, value, right in parts)
                self.assertAlmostEqual(product, [[3, 0], [4, 5]][row][column], 12)
        flat = self.tools.matrix_svd([[1, 2], [2, 4], [3, 6]])
        self.assertEqual((flat["rank"], flat["condition"]), (1, None))

    def test_bad_input(self):
        self.refuses("singular", self.tools.matrix_solve, [[1, 2], [2, 4]], [1, 2])
        self.refuses("a has 2 rows and b 3", self.tools.matrix_solve, [[1, 2], [2, 5]], [1, 2, 3])
        self.refuses("rows of the same length", self.tools.matrix_solve, [[1, 2], [2]], [1, 2])
        self.refuses("list of 1 to 2,000 rows", self.tools.matrix_svd, [])
        self.refuses("must be square, not 1 by 2", self.tools.matrix_eigenvalues, [[1, 2]])
        self.refuses(
            r"matrix\[0\]\[1\] must be a finite number, not 'x'", self.tools.matrix_eigenvalues, [[1, "x"], [1, 2]]
        )


if __name__ == "__main__":
    unittest.main()
