"""Figures of matplotlib: when they are shown, in which order, how large."""

# %%
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 10, 50)
plt.plot(x, np.sin(x))

# %%
plt.plot(x, np.cos(x));

# %%
plt.plot(x)
plt.title("a title")

# %%
plt.plot(x)
plt.show()

# %%
print("before")
plt.plot([1, 2])
plt.show()
print("after")

# %%
plt.figure()

# %%
fig = plt.figure(figsize=(3, 2))

# %%
fig, ax = plt.subplots()

# %%
fig, ax = plt.subplots(figsize=(4, 3))
ax.bar(["a", "b", "c"], [1, 3, 2])
ax.set_xlabel("letters");

# %%
fig

# %%
ax

# %%
fig, axes = plt.subplots(2, 2)
axes

# %%
plt.plot([1, 2])
1 / 0

# %%
for i in range(3):
    plt.figure(figsize=(2, 2))
    plt.plot([i, 1])

# %%
for i in range(2):
    plt.plot([i, 1])
    plt.show()

# %%
plt.hist(np.arange(10), bins=3)

# %%
plt.scatter([1, 2], [3, 4], c=[0.1, 0.9]);
plt.colorbar();

# %%
plt.imshow(np.arange(9).reshape(3, 3))

# %%
plt.pie([1, 2, 3], labels=["a", "b", "c"]);

# %%
plt.boxplot([[1, 2, 3, 10], [2, 3]]);

# %%
plt.plot([1, 2])
plt.savefig("saved.png", dpi=50)
plt.close()

# %%
import os

os.path.getsize("saved.png") > 100

# %%
plt.plot([1, 2])
plt.close("all")
"closed"

# %%
with plt.style.context("ggplot"):
    plt.plot([1, 3, 2])
    plt.show()

# %%
plt.style.use("grayscale")
plt.plot([1, 2]);

# %%
plt.style.use("default")
plt.plot([1, 2]);

# %%
plt.rcParams["savefig.dpi"] = 200
plt.plot([1, 2]);

# %%
plt.rcParams["figure.dpi"] = 50
plt.plot([1, 2]);

# %%
plt.rcParams["figure.figsize"] = (3, 2)
plt.plot([1, 2]);

# %%
plt.rcdefaults()
plt.rcParams["figure.figsize"]

# %%
from IPython.display import display

fig, ax = plt.subplots(figsize=(2, 2))
ax.plot([1, 2])
display(fig)
print("displayed once, shown once more at the end")

# %%
fig, ax = plt.subplots(figsize=(2, 2))
ax.plot([1, 2])
display(fig)
plt.close(fig)

# %%
fig, ax = plt.subplots(figsize=(2, 2))
plt.close(fig)
ax.plot([1, 2])
fig

# %%
ax.text(0.5, 0.5, "$\\alpha^2$")
ax.set_title("t"), ax.get_title()

# %%
plt.plot([1], [2], label="one")
plt.legend()

# %%
plt.figure(figsize=(2, 2), facecolor="yellow")
plt.plot([1, 2]);

# %%
plt.plot([1, 2])
"a value and a figure"

# %%
def draw():
    fig, ax = plt.subplots(figsize=(2, 1))
    ax.plot([3, 1])
    return fig


draw()

# %%
f = draw()

# %%
plt.gcf()

# %%
plt.plot([1, 2], "no such format")

# %%
ax = plt.axes(projection="3d")
ax.plot([1, 2], [1, 2], [1, 2])

# %%
plt.xlabel("only a label")

# %%
plt.tight_layout()

# %%
%matplotlib inline
%config InlineBackend.figure_format = 'retina'
plt.plot([1, 2]);

# %%
%config InlineBackend.figure_format = 'png'
plt.plot([1, 2]);

# %%
%config InlineBackend.figure_format = 'svg'
fig = plt.figure(figsize=(1, 1)); plt.axis("off");

# %%
%config InlineBackend.figure_formats = ['png']
plt.get_backend().split(".")[-1]

# %%
plt.isinteractive()

# %%
plt.ioff()
plt.plot([1, 2]);

# %%
plt.close("all")
plt.ion()
plt.get_fignums()

# %%
plt.setp(plt.plot([1, 2]), linewidth=2)

# %%
from matplotlib import animation, cm, colors

colors.to_rgb("red"), cm.viridis.name

# %%
plt.cm.viridis

# %%
plt.Figure(figsize=(1, 1))
