"""Pictures: what they are, that equal input gives equal bytes, and the numbers beside them."""

import math
import re
import unittest
from unittest import mock

from catalogue_case import CatalogueCase

PNG = b"\x89PNG\r\n\x1a\n"


def decode_sixel(text):
    """The colours of the pixels, after DEC's description of the format."""
    body = re.fullmatch("\x1bPq(.*)\x1b\\\\", text, re.S)[1]
    pixels, colours, colour, x, top = {}, {}, 0, 0, 0
    pattern = r'"[\d;]+|#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|!(\d+)([?-~])|([?-~])|(\$)|(-)'
    end = 0
    for found in re.finditer(pattern, body):
        if found.start() != end:
            raise ValueError("unknown at {}".format(end))
        end = found.end()
        if found[1]:
            colours[int(found[1])] = tuple(int(found[at]) for at in (2, 3, 4))
        elif found[5]:
            colour = int(found[5])
        elif found[7] or found[8]:
            for _ in range(int(found[6] or 1)):
                bits = ord(found[7] or found[8]) - 63
                for row in range(6):
                    if bits >> row & 1:
                        pixels[x, top + row] = colours[colour]
                x += 1
        elif found[9]:
            x = 0
        elif found[10]:
            x, top = 0, top + 6
    if end != len(body):
        raise ValueError("unknown at {}".format(end))
    return pixels


class PlotsTest(CatalogueCase):
    file = "plots"

    def setUp(self):
        self.shown = []
        patch = mock.patch.object(self.tools, "_show", self.shown.append)
        patch.start()
        self.addCleanup(patch.stop)

    def test_function(self):
        found = self.tools.plot_function("x^2 - 2", 0, 2, points=201)
        ((low, high),) = found["sign_changes"]
        self.assertTrue(low < math.sqrt(2) < high)
        self.assertEqual((found["x"], found["y"], found["lowest_at"]), ([0, 2], [-2, 2], 0))
        self.assertEqual(self.tools.plot_function("log(x)", -1, 1)["undefined"], 200)
        self.assertTrue(all(png.startswith(PNG) for png in self.shown))

    def test_histogram(self):
        # The first example of numpy.histogram's documentation.
        self.assertEqual(
            self.tools.histogram([1, 2, 1], 3, 0, 3), {"counts": [0, 2, 1], "edges": [0, 1, 2, 3], "outside": 0}
        )
        self.assertEqual(self.tools.histogram([1, 2, 9], 2, high=3)["outside"], 1)
        self.assertEqual(self.tools.histogram([5, 5], 1)["counts"], [2])
        self.assertEqual([png[:8] for png in self.shown], [PNG] * 3)

    def test_sixel(self):
        self.needs("PIL")
        found = self.tools.plot_sixel("x", -1, 1, width=120, height=90)
        pixels = decode_sixel(found["sixel"])
        self.assertEqual((found["width"], found["height"]), (120, 90))
        self.assertEqual(set(pixels), {(x, y) for x in range(120) for y in range(90)})
        self.assertEqual(pixels[0, 0], (100, 100, 100))
        # The line is matplotlib's blue, and rises.
        blue = sorted((x, y) for (x, y), (red, _, tone) in pixels.items() if tone - red > 40)
        self.assertGreater(len(blue), 40)
        self.assertGreater(blue[0][1], blue[-1][1])

    def test_math(self):
        small = self.tools.render_math(r"\frac{a}{b}", dpi=100)
        large = self.tools.render_math(r"$\frac{a}{b}$", dpi=200)
        self.assertEqual(small["format"], "image/png")
        # A fraction is higher than it is wide, and twice the dots make it twice as large.
        self.assertGreater(small["height"], small["width"])
        self.assertAlmostEqual(large["height"] / small["height"], 2, 0)
        self.assertEqual([png[:8] for png in self.shown], [PNG] * 2)

    def test_equal_input_gives_equal_bytes(self):
        for _ in range(2):
            self.tools.plot_function("sin(x)/x")
        for _ in range(2):
            self.tools.histogram([1, 2, 2])
        for _ in range(2):
            self.tools.render_math("x^2")
        for one, other in zip(self.shown[::2], self.shown[1::2]):
            self.assertEqual(one, other)
        self.assertNotIn(b"Software", self.shown[0])

    def test_bad_input(self):
        self.refuses("unknown name y; known are x", self.tools.plot_function, "y")
        self.refuses("smaller to a larger", self.tools.plot_function, "x", 1, 1)
        self.refuses("defined nowhere", self.tools.plot_function, "log(x)", -2, -1)
        self.refuses("values must have 1", self.tools.histogram, [])
        self.refuses("bins must be", self.tools.histogram, [1], 0)
        self.refuses("low to high must go", self.tools.histogram, [1], 2, 5, 3)
        self.refuses("width must be", self.tools.plot_sixel, "x", width=10)
        self.refuses("latex cannot be drawn", self.tools.render_math, r"\frac{a}")
        self.refuses("must be a formula", self.tools.render_math, "$$")
        self.assertEqual(self.shown, [])


if __name__ == "__main__":
    unittest.main()
