"""Rich display: IPython.display, display_id, clear_output, methods of objects, failing reprs."""

# %%
from IPython.display import display, HTML, Image, Markdown, Latex, JSON, SVG, Math, Code, clear_output, update_display

display(HTML("<b>bold</b>"))

# %%
HTML("<i>as a result</i>")

# %%
display("text", 3, [1, 2])

# %%
display({"a": 1}, None)

# %%
Markdown("# A heading\n\nand *text*")

# %%
display(Markdown("**one**"), HTML("<p>two</p>"))

# %%
Latex(r"$\alpha$")

# %%
Math(r"\frac{1}{2}")

# %%
SVG("<svg xmlns='http://www.w3.org/2000/svg' width='10' height='10'><rect width='10' height='10'/></svg>")

# %%
JSON({"a": [1, 2, {"b": None}]})

# %%
import base64, zlib, struct


def png(width, height, grey):
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = b"".join(b"\0" + bytes([grey]) * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


Image(png(4, 3, 128))

# %%
open("dot.png", "wb").write(png(2, 2, 0))
Image("dot.png")

# %%
display(Image(filename="dot.png"))

# %%
Image("no-such.png")

# %%
print("before")
display(HTML("<hr>"))
print("after")

# %%
for i in range(3):
    print(i)
    display(i)

# %%
print("gone")
clear_output()
print("stays")

# %%
for i in range(3):
    clear_output(wait=True)
    print("step", i)

# %%
display("first")
clear_output()

# %%
handle = display("one", display_id=True)
handle.update("two")

# %%
display(HTML("<p>old</p>"), display_id="mine")

# %%
update_display(HTML("<p>new</p>"), display_id="mine")

# %%
h = display("a", display_id="two-places")
h.display("b")

# %%
type(h)

# %%
display({"text/plain": "raw text", "text/html": "<u>raw</u>"}, raw=True)

# %%
class Card:
    def _repr_html_(self):
        return "<div>card</div>"

    def __repr__(self):
        return "Card()"


Card()

# %%
display(Card())
[Card()]

# %%
print(Card())

# %%
class Rich:
    def _repr_html_(self):
        return "<b>h</b>"

    def _repr_markdown_(self):
        return "**m**"

    def _repr_latex_(self):
        return "$l$"

    def __repr__(self):
        return "Rich()"


Rich()

# %%
class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "from a bundle", "text/html": "<b>bundle</b>"}


Bundle()

# %%
display(Bundle())

# %%
class Own:
    def _ipython_display_(self):
        print("shown by itself")


Own()

# %%
display(Own())

# %%
[Own().__class__.__name__]

# %%
class BadRepr:
    def __repr__(self):
        raise ValueError("no repr today")


BadRepr()

# %%
print("after a bad repr")

# %%
display(BadRepr())
print("goes on")

# %%
class BadHtml:
    def _repr_html_(self):
        raise KeyError("html")

    def __repr__(self):
        return "BadHtml()"


BadHtml()

# %%
class NoneHtml:
    def _repr_html_(self):
        return None

    def __repr__(self):
        return "NoneHtml()"


NoneHtml()

# %%
class NumberHtml:
    def _repr_html_(self):
        return 3

    def __repr__(self):
        return "NumberHtml()"


NumberHtml()

# %%
class WrongRepr:
    def __repr__(self):
        return 5


WrongRepr()

# %%
class PngRepr:
    def _repr_png_(self):
        return png(3, 3, 200)

    def __repr__(self):
        return "PngRepr()"


PngRepr()

# %%
class SvgRepr:
    def _repr_svg_(self):
        return "<svg xmlns='http://www.w3.org/2000/svg'/>"


SvgRepr()

# %%
class JsonRepr:
    def _repr_json_(self):
        return {"k": [1, 2]}

    def __repr__(self):
        return "JsonRepr()"


JsonRepr()

# %%
Card

# %%
from IPython.display import display_html, display_markdown

display_html("<b>raw html</b>", raw=True)
display_markdown("*md*", raw=True)

# %%
from IPython.display import Pretty, FileLink, IFrame, Javascript

Pretty("plain pretty")

# %%
IFrame("about:blank", width=100, height=50)

# %%
Code("print(1)", language="python").data

# %%
display()

# %%
display(1, 2); 3

# %%
HTML("<b>x</b>").data

# %%
HTML("<b>suppressed</b>");

# %%
str(HTML("x"))[:20]

# %%
from IPython.core.display import HTML as CoreHTML
CoreHTML is HTML

# %%
import IPython

IPython.display.Markdown is Markdown

# %%
display(HTML("<b>then</b>"))
1 / 0

# %%
get_ipython().display_formatter.formatters["text/html"].for_type(complex, lambda c: f"<i>{c.real}</i>")
1 + 2j

# %%
text = get_ipython().display_formatter.format([1, 2])
text
