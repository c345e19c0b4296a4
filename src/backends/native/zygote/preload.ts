import type { Settings } from "../../../config.js";

const STANDARD =
  "ast asyncio base64 bisect calendar collections concurrent.futures contextlib copy csv " +
  "dataclasses datetime decimal difflib enum fractions functools glob hashlib heapq html inspect " +
  "importlib.metadata io itertools json linecache logging math multiprocessing operator os pathlib pickle platform " +
  "pprint random re shutil sqlite3 statistics string struct subprocess tempfile textwrap " +
  "threading time timeit traceback types typing unicodedata urllib.parse uuid warnings zlib";

const SCIENTIFIC =
  "numpy pandas scipy.stats scipy.optimize scipy.interpolate sklearn.linear_model sklearn.tree " +
  "sklearn.ensemble sklearn.cluster sklearn.preprocessing sklearn.model_selection " +
  "sklearn.metrics statsmodels.api matplotlib matplotlib.pyplot seaborn";

const SERIALISERS = "cloudpickle lz4.frame openpyxl";

export function preloadNames(preload: Settings["preload"]): string[] {
  switch (preload) {
    case "none":
      return [];
    case "standard":
      return STANDARD.split(" ");
    case "full":
      return [STANDARD, SCIENTIFIC, SERIALISERS].join(" ").split(" ");
    default:
      return preload;
  }
}
