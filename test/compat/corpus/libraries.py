"""scipy, scikit-learn, statsmodels and seaborn as notebooks use them."""

# %%
import numpy as np
import pandas as pd
import matplotlib.pyplot as plt
import seaborn as sns

rng = np.random.default_rng(0)
data = pd.DataFrame({"x": np.arange(30), "y": rng.normal(size=30), "k": ["a", "b", "c"] * 10})
data.head()

# %%
from scipy import stats, optimize

stats.norm(0, 1)

# %%
stats.ttest_ind([1, 2, 3, 4], [2, 3, 4, 9])

# %%
optimize.minimize(lambda v: (v[0] - 1) ** 2, [0.0]).success

# %%
optimize.OptimizeResult(x=1, fun=2)

# %%
from scipy import sparse

sparse.csr_matrix(np.eye(3))

# %%
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

print(LinearRegression())

# %%
model = LinearRegression().fit(data[["x"]], data["y"])
round(model.coef_[0], 6)

# %%
print(make_pipeline(StandardScaler(), LinearRegression()))

# %%
LinearRegression().predict([[1]])

# %%
from sklearn.model_selection import train_test_split

a, b = train_test_split(np.arange(10), random_state=0)
a, b

# %%
import statsmodels.api as sm

fit = sm.OLS(data["y"], sm.add_constant(data["x"])).fit()
fit.params

# %%
type(fit.summary())

# %%
print(fit.summary().tables[1])

# %%
sns.set_theme()
sns.lineplot(data=data, x="x", y="y")

# %%
sns.scatterplot(data=data, x="x", y="y", hue="k");

# %%
sns.boxplot(data=data, x="k", y="y").set_title("boxes")

# %%
sns.relplot(data=data, x="x", y="y", col="k", height=2)

# %%
sns.heatmap(np.eye(3), annot=True)

# %%
sns.reset_defaults()
plt.ion()
sns.color_palette("deep", 3)

# %%
sns.histplot(data["y"], bins=5);
plt.xlim(-3, 3)

# %%
g = sns.FacetGrid(data, col="k", height=2)
g.map(plt.plot, "x", "y")

# %%
data.groupby("k").agg({"y": ["count"], "x": ["min", "max"]})

# %%
np.testing.assert_allclose([1.0], [1.1])

# %%
data.plot.scatter("x", "y");

# %%
fig, axes = plt.subplots(1, 2, figsize=(6, 2))
data["y"].plot(ax=axes[0])
data["x"].plot(ax=axes[1], kind="hist")
plt.tight_layout()

# %%
np.polyfit([0, 1, 2], [1, 3, 5], 1).round(6), np.poly1d([1, 2])

# %%
import polars as pl

pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}).shape
