# Cells with numpy and pandas.

# %% arrays needs numpy
import numpy as np
matrix_SLOT = np.arange(NUM_SIZE, dtype=np.float64) * NUM_A
column_SLOT = matrix_SLOT[:: NUM_A]

# %% arrays in place needs numpy
import numpy as np
if "matrix_SLOT" not in globals():
    matrix_SLOT = np.zeros(NUM_SIZE)
matrix_SLOT[:: NUM_B] += NUM_A
matrix_SLOT[-1] = NUM_CELL

# %% few elements of a large array needs numpy
import numpy as np
if "wide_SLOT" not in globals():
    wide_SLOT = np.zeros((1500, 700))
wide_SLOT[NUM_B, NUM_A] += NUM_CELL
wide_SLOT[NUM_B * 10, :] = NUM_A

# %% whole large array needs numpy
import numpy as np
if "wide_SLOT" not in globals():
    wide_SLOT = np.ones((1500, 700))
wide_SLOT *= 1.5
wide_SLOT -= NUM_A

# %% large array made and dropped needs numpy
import numpy as np
total_SLOT = float((np.arange(3_000_000) % NUM_B).sum())

# %% array that replaces another needs numpy
import numpy as np
replaced_SLOT = np.full(NUM_SIZE * 100, NUM_B, dtype=np.int32)
replaced_SLOT = replaced_SLOT[:-NUM_A].copy()

# %% linear algebra needs numpy
import numpy as np
square_SLOT = np.fromfunction(lambda row, column: (row * NUM_A + column) % NUM_B + (row == column) * 200, (40, 40))
solved_SLOT = np.round(np.linalg.solve(square_SLOT, np.ones(40)), 6)

# %% structured arrays needs numpy
import numpy as np
records_array_SLOT = np.zeros(NUM_B, dtype=[("id", "i4"), ("name", "U8"), ("weight", "f8")])
records_array_SLOT["id"] = np.arange(NUM_B)
records_array_SLOT["name"][: NUM_A] = "cell"
objects_SLOT = np.array([None, [NUM_A], {"b": NUM_B}, "text"], dtype=object)

# %% numpy's random numbers needs numpy
import numpy as np
sampled_SLOT = np.random.rand(NUM_A)
if "generator_SLOT" not in globals():
    generator_SLOT = np.random.default_rng(NUM_CELL)
more_SLOT = generator_SLOT.integers(0, 1000, NUM_A)

# %% array from a file needs numpy
import numpy as np
np.save("/workspace/array_NUM_CELL.npy", np.arange(NUM_SIZE) * NUM_A)
from_file_SLOT = np.load("/workspace/array_NUM_CELL.npy", mmap_mode="c")
from_file_SLOT[NUM_B] = -1

# %% frames needs pandas
import pandas as pd
frame_SLOT = pd.DataFrame({"group": [number % NUM_A for number in range(NUM_B)], "value": range(NUM_B)})
frame_SLOT["text"] = frame_SLOT["value"].astype(str) + " of %d" % NUM_CELL

# %% frames in place needs pandas
import pandas as pd
if "frame_SLOT" not in globals():
    frame_SLOT = pd.DataFrame({"group": [1, 2], "value": [3, 4]})
frame_SLOT.loc[frame_SLOT.index[-1], "value"] = NUM_B
frame_SLOT.insert(0, "c%d" % NUM_CELL, NUM_A)

# %% groupby needs pandas
import pandas as pd
if "frame_SLOT" in globals():
    grouped_SLOT = frame_SLOT.groupby("group")["value"].agg(["sum", "mean", "count"])
    pivot_SLOT = frame_SLOT.pivot_table(index="group", values="value", aggfunc="max")

# %% categories and times needs pandas
import pandas as pd
series_SLOT = pd.Series(pd.Categorical(["a", "b", "a"] * NUM_A), name="s%d" % NUM_CELL)
times_SLOT = pd.date_range("2024-01-01", periods=NUM_B, freq="h")
resampled_SLOT = pd.Series(range(NUM_B), index=times_SLOT).resample("1D").sum()

# %% large frame needs pandas
import pandas as pd
tall_SLOT = pd.DataFrame({"a": range(NUM_SIZE), "b": [str(n % NUM_B) for n in range(NUM_SIZE)]})
tall_SLOT = tall_SLOT.sort_values(["b", "a"], ascending=[True, False]).reset_index(drop=True)
