"""Pictures with matplotlib: the picture is displayed, and what it shows is given as numbers."""

import io

import matplotlib
import numpy
from matplotlib.figure import Figure

from .arrays import Function
from .inputs import interval, number, numbers, text, whole

#: Nothing of the machine or the moment may be in the file.
METADATA = {"Software": None}
#: With fewer a thin line loses its colour to the greys of the letters.
COLOURS = 32


def _figure(width=6.4, height=4.0):
    # Without pyplot nothing is left open, and no window is looked for.
    figure = Figure(figsize=(width, height), dpi=100, layout="constrained")
    return figure, figure.add_subplot()


def _png(figure, **options):
    written = io.BytesIO()
    figure.savefig(written, format="png", metadata=METADATA, **options)
    return written.getvalue()


def _show(png):
    from IPython.display import Image, display

    display(Image(data=png, format="png"))
    return len(png)


def _curve(expression, x_min, x_max, points):
    low, high = interval(x_min, x_max, "x_min to x_max")
    xs = numpy.linspace(low, high, whole(points, "points", 2, 20_000))
    ys = numpy.broadcast_to(Function(expression, ["x"])({"x": xs}), xs.shape)
    if not numpy.isfinite(ys).any():
        raise ValueError("{!r} is defined nowhere between {} and {}".format(expression, low, high))
    return xs, numpy.where(numpy.isfinite(ys), ys, numpy.nan)


def _drawn(expression, xs, ys, title):
    figure, axes = _figure()
    axes.plot(xs, ys)
    axes.grid(True, alpha=0.3)
    axes.set_xlabel("x")
    axes.set_title(text(title, "title", 200) or "y = " + expression[:80], parse_math=False)
    return figure


def plot_function(expression, x_min=-10.0, x_max=10.0, points=400, title="") -> dict:
    """Plot a formula of x."""
    xs, ys = _curve(expression, x_min, x_max, points)
    _show(_png(_drawn(expression, xs, ys, title)))
    signs = numpy.sign(ys)
    crossings = numpy.nonzero(signs[:-1] * signs[1:] < 0)[0]
    low, high = int(numpy.nanargmin(ys)), int(numpy.nanargmax(ys))
    return {
        "x": [float(xs[0]), float(xs[-1])],
        "y": [float(ys[low]), float(ys[high])],
        "lowest_at": float(xs[low]),
        "highest_at": float(xs[high]),
        "sign_changes": [[float(xs[at]), float(xs[at + 1])] for at in crossings[:100]],
        "undefined": int(numpy.isnan(ys).sum()),
    }


def histogram(values, bins=10, low=None, high=None, title="") -> dict:
    """Count numbers in bins of equal width, and plot the counts."""
    data = numpy.array(numbers(values, "values"))
    count = whole(bins, "bins", 1, 1_000)
    first = data.min() if low is None else number(low, "low")
    last = data.max() if high is None else number(high, "high")
    # Without any, numpy makes space for numbers that are all the same.
    ends = None if low is None and high is None else interval(float(first), float(last), "low to high")
    counts, edges = numpy.histogram(data, count, ends)
    figure, axes = _figure()
    axes.bar(edges[:-1], counts, numpy.diff(edges), align="edge", edgecolor="white")
    axes.set_title(text(title, "title", 200), parse_math=False)
    _show(_png(figure))
    return {"counts": counts.tolist(), "edges": edges.tolist(), "outside": int(len(data) - counts.sum())}


def plot_sixel(expression, x_min=-10.0, x_max=10.0, points=400, width=480, height=300) -> dict:
    """Plot a formula of x as sixels, for terminals that draw them."""
    from PIL import Image

    size = whole(width, "width", 50, 1_600), whole(height, "height", 50, 1_200)
    xs, ys = _curve(expression, x_min, x_max, points)
    figure = _drawn(expression, xs, ys, "")
    figure.set_size_inches(size[0] / 100, size[1] / 100)
    picture = Image.open(io.BytesIO(_png(figure))).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    return {"sixel": _sixel(picture), "width": picture.width, "height": picture.height}


def _sixel(picture):
    """The picture as DEC's terminals read it: bands of six rows, colour by colour."""
    pixels = numpy.asarray(picture)
    palette = picture.getpalette()[: 3 * COLOURS]
    parts = ["\x1bPq", '"1;1;{};{}'.format(picture.width, picture.height)]
    for colour in range(len(palette) // 3):
        shares = [round(value * 100 / 255) for value in palette[3 * colour : 3 * colour + 3]]
        parts.append("#{};2;{};{};{}".format(colour, *shares))
    for top in range(0, picture.height, 6):
        band = pixels[top : top + 6]
        bits = (1 << numpy.arange(len(band)))[:, None]
        rows = []
        for colour in numpy.unique(band):
            columns = ((band == colour) * bits).sum(axis=0)
            rows.append("#{}{}".format(colour, _runs("".join(chr(63 + column) for column in columns))))
        parts.append("$".join(rows) + "-")
    return "".join(parts) + "\x1b\\"


def _runs(line):
    """Equal characters in a row as `!count`, where that is shorter."""
    import itertools

    runs = ((character, len(list(group))) for character, group in itertools.groupby(line))
    return "".join("!{}{}".format(count, character) if count > 3 else character * count for character, count in runs)


def render_math(latex, size=16, dpi=150) -> dict:
    """Draw a formula in LaTeX's notation, as far as matplotlib's mathtext knows it."""
    formula = text(latex, "latex", 2_000).strip().strip("$").strip()
    if not formula:
        raise ValueError("latex must be a formula such as '\\\\frac{a}{b}'")
    figure = Figure(dpi=whole(dpi, "dpi", 50, 400))
    figure.text(0.0, 0.0, "${}$".format(formula), fontsize=whole(size, "size", 6, 72))
    try:
        with matplotlib.rc_context({"mathtext.fontset": "cm"}):
            png = _png(figure, bbox_inches="tight", pad_inches=0.05)
    except ValueError as error:
        lines = [line for line in str(error).split("\n") if line.strip()]
        raise ValueError("latex cannot be drawn: {}".format(lines[-1] if lines else "unknown notation")) from None
    _show(png)
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    return {"width": width, "height": height, "format": "image/png"}
