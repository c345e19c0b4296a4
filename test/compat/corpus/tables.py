"""numpy and pandas as values, tables and in print."""

# %%
import numpy as np
import pandas as pd

np.arange(12).reshape(3, 4)

# %%
np.linspace(0, 1, 7)

# %%
np.arange(5000)

# %%
np.float64(3.5), np.int32(4), np.bool_(True)

# %%
np.float64(1) / 3

# %%
np.array(["a", "bb"]), np.array([1 + 2j]), np.array([None, {}], dtype=object)

# %%
np.zeros((2, 3), dtype=[("x", "i4"), ("y", "f8")])

# %%
np.array([1, 2]) / 0

# %%
np.sqrt(-1)

# %%
np.array([1, 2]) + np.array([1, 2, 3])

# %%
np.random.seed(0)
np.random.randn(3, 2)

# %%
rng = np.random.default_rng(42)
rng

# %%
rng.integers(0, 10, 5)

# %%
np.set_printoptions(precision=2)
np.array([1.23456])

# %%
np.ma.array([1, 2, 3], mask=[0, 1, 0])

# %%
np.dtype("f8"), np.array(1).shape

# %%
[np.arange(3), np.eye(2)]

# %%
{"array": np.arange(20), "scalar": np.float32(2)}

# %%
df = pd.DataFrame({"name": ["ann", "bob", "cid"], "age": [30, 25, None], "ok": [True, False, True]})
df

# %%
df.dtypes

# %%
df["age"]

# %%
df.describe()

# %%
df.info()

# %%
print(df)

# %%
df.head(1), df.shape

# %%
df.groupby("ok")["age"].mean()

# %%
df.groupby("ok")

# %%
pd.DataFrame(np.arange(400).reshape(100, 4), columns=list("abcd"))

# %%
pd.DataFrame(np.arange(60).reshape(2, 30))

# %%
pd.DataFrame()

# %%
pd.Series([1, 2, 3], index=list("abc"), name="s")

# %%
pd.Series(range(100))

# %%
pd.Index([1, 2, 3]), pd.date_range("2024-01-01", periods=3)

# %%
pd.date_range("2024-01-01", periods=3)

# %%
pd.MultiIndex.from_product([["a", "b"], [1, 2]])

# %%
pd.DataFrame({"v": range(4)}, index=pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["k", "n"]))

# %%
pd.Categorical(["x", "y", "x"])

# %%
pd.Timestamp("2024-02-29 12:00"), pd.Timedelta("1 day"), pd.NaT, pd.NA

# %%
df["missing"]

# %%
df.loc[10]

# %%
df.query("age > 26")

# %%
df.style.highlight_max(subset=["age"]).to_html()[:6]

# %%
df.to_csv("table.csv", index=False)
pd.read_csv("table.csv")

# %%
pd.read_csv("no-such.csv")

# %%
df.pivot_table(index="ok", values="age", aggfunc="mean")

# %%
pd.options.display.max_rows = 4
pd.DataFrame({"n": range(20)})

# %%
pd.reset_option("display.max_rows")
with pd.option_context("display.precision", 1):
    display(pd.DataFrame({"f": [1.2345]}))

# %%
display(df.head(2))
print("between")
df.tail(1)

# %%
df.T

# %%
df.isna().sum()

# %%
df["age"].value_counts()

# %%
df.merge(pd.DataFrame({"name": ["ann"], "city": ["Bern"]}))

# %%
pd.concat([df, df]).reset_index(drop=True)

# %%
df.plot(x="name", y="age", kind="bar")

# %%
df["age"].hist()

# %%
df.values

# %%
df.to_dict("records")

# %%
df.columns

# %%
df.age.max()

# %%
for row in df.itertuples():
    print(row)

# %%
df.apply(lambda row: f"{row['name']}!", axis=1)

# %%
pd.to_datetime(["2024-01-01", "bad"])

# %%
pd.Series([1.5, 2.25]).rolling(2).mean()

# %%
pd.crosstab(df["name"], df["ok"])

# %%
df.set_index("name")["age"].to_frame()

# %%
s = pd.Series(["a b", "c d"])
s.str.split(expand=True)

# %%
df[["name"]].iloc[0]

# %%
pd.__name__, isinstance(np.__version__, str)

# %%
pd.DataFrame({"long": ["x" * 100], "html": ["<b>&amp;</b>"]})

# %%
list(df), len(df), "name" in df
