"""IPython's own: magics, history, get_ipython, helpers that notebooks define."""

# %%
_

# %%
1 + 1

# %%
_ * 10

# %%
_, __

# %%
_2

# %%
Out[2]

# %%
In[2]

# %%
len(In) > 5, sorted(Out)[:3]

# %%
_i

# %%
"kept"

# %%
x = 1
_

# %%
ip = get_ipython()
type(ip).__name__

# %%
ip.user_ns["x"], ip.user_ns is globals()

# %%
ip.run_line_magic("pwd", "")

# %%
ip.ev("x + 1")

# %%
ip.ex("z = x + 5")
z

# %%
ip.run_cell("q = 42\nprint('inner', q)")
q

# %%
ip.system("echo from system")

# %%
ip.getoutput("echo captured")

# %%
from IPython.core.magic import register_line_magic, register_cell_magic, register_line_cell_magic


@register_line_magic
def shout(line):
    return line.upper()


%shout hello there

# %%
loud = %shout assigned
loud

# %%
@register_cell_magic
def count_lines(line, cell):
    print(line, len(cell.splitlines()))

# %%
%%count_lines title
a
b
c

# %%
@register_cell_magic
def expect(line, cell):
    try:
        get_ipython().run_cell(cell)
    except Exception as error:
        print("got", type(error).__name__)
    exec(line or "None")

# %%
%%expect
y = 5
print(y + 1)

# %%
@register_line_cell_magic
def both(line, cell=None):
    return (line, cell)


%both as line

# %%
%%both as cell
body

# %%
from IPython import get_ipython as getter

getter() is get_ipython()

# %%
from IPython.core.magic import Magics, magics_class, line_magic, cell_magic


@magics_class
class Mine(Magics):
    @line_magic
    def twice(self, line):
        return line * 2

    @cell_magic
    def lines(self, line, cell):
        return cell.split("\n")


get_ipython().register_magics(Mine)

# %%
%twice ab

# %%
%%lines
one
two

# %%
%no_such_magic

# %%
%%no_such_cell_magic
x

# %%
%cd .

# %%
import os

os.makedirs("sub", exist_ok=True)
%cd sub
%cd -
os.path.basename(os.getcwd()) != "sub"

# %%
%pwd

# %%
%precision 3
3.14159265

# %%
%precision
2.5

# %%
%env COMPAT_VALUE=3
os.environ["COMPAT_VALUE"]

# %%
%env COMPAT_VALUE

# %%
%%writefile written.py
"""A script."""
value = 21
print("running", __name__)

# %%
%run written.py

# %%
value * 2

# %%
%run -n written.py

# %%
%run no_such_script.py

# %%
%%writefile -a written.py
print("appended")

# %%
%run written

# %%
%run arguments_script.py one "two words"

# %%
%run other_notebook.ipynb

# %%
from_other_notebook(4)

# %%
%%capture captured
print("hidden")
import sys
print("hidden err", file=sys.stderr)
7

# %%
captured.stdout, captured.stderr

# %%
captured.show()

# %%
%%capture --no-stderr out_only
print("o")
print("e", file=sys.stderr)

# %%
%%capture
print("nobody sees it")

# %%
result = %sx echo listed
result

# %%
%%capture measured
%timeit -n 1 -r 1 sum(range(3)) # a comment

# %%
"per loop" in measured.stdout

# %%
t = %timeit -n 1 -r 1 -q -o sum(range(3))
type(t).__name__

# %%
%%capture timed
%time a_value = 5 # a comment
%time sum(range(3)) # an expression

# %%
a_value, "Wall time" in timed.stdout

# %%
timed.outputs

# %%
%%capture looped
for n in range(2):
    with __import__("contextlib").suppress(ValueError):
        x = %time n + 1 # indented

# %%
x, looped.stdout.count("Wall time")

# %%
%%html
<b>html magic</b>

# %%
%%markdown
# md magic

# %%
%%latex
$x^2$

# %%
%%svg
<svg xmlns="http://www.w3.org/2000/svg"/>

# %%
%%javascript
console.log(1)

# %%
%%bash
echo from bash
echo $((1 + 2))

# %%
%%bash --out bash_text --err bash_err
echo kept
echo wrong >&2

# %%
bash_text, bash_err

# %%
%%sh
echo sh; exit 3

# %%
%%script cat
fed to cat

# %%
del_me = 5
%xdel del_me
"del_me" in globals()

# %%
who_a, who_b = 1, "two"
%who str

# %%
%reset_selective -f who_a
"who_a" in globals()

# %%
%matplotlib inline

# %%
%config InlineBackend.figure_format

# %%
%load_ext autoreload
%autoreload 2

# %%
%load_ext no_such_extension

# %%
%pip --version > /dev/null

# %%
for i in range(2):
    %shout in a loop

# %%
if True:
    !echo indented

# %%
%alias hi echo hi there
%hi

# %%
%magic_that_is_not 3

# %%
a = 10
f"{a%3}"

# %%
a %2

# %%
%%python
print("another process")

# %%
%lsmagic
None

# %%
%colors nocolor

# %%
%xmode Minimal
1/0

# %%
%xmode Context

# %%
%%capture whole
%%time
value_of_whole = 5

# %%
%%time
pass;

# %%
%store
