"""Cells as people and models write them every day; a policy must let all of them pass."""

_NUMPY = r"""
x = np.{f}(a)
import numpy as np\nvalues = np.array([1, 2, 3])\nprint(np.{f}(values))
df['z'] = np.{f}(df['x'].to_numpy())
"""
_NUMPY_FUNCTIONS = "mean sum std exp log sqrt abs sort cumsum diff trace sign".split()

_PANDAS = r"""
df.groupby('city')['price'].{f}()
out = df.select_dtypes('number').{f}()\nout.head(10)
df.resample('D').{f}().plot(title='{f} per day')
"""
_PANDAS_FUNCTIONS = "mean sum min max median std count nunique first last".split()

_SKLEARN = r"""
from sklearn.{m} import {c}\nmodel = {c}()\nmodel.fit(X_train, y_train)\nprint(model.score(X_test, y_test))
"""
_SKLEARN_CLASSES = (
    "linear_model.LinearRegression linear_model.LogisticRegression linear_model.Ridge "
    "ensemble.RandomForestClassifier ensemble.GradientBoostingRegressor svm.SVC tree.DecisionTreeClassifier "
    "neighbors.KNeighborsClassifier naive_bayes.GaussianNB cluster.KMeans decomposition.PCA "
    "preprocessing.StandardScaler neural_network.MLPClassifier"
).split()

_STANDARD = r"""
import {m}\nprint({m}.__doc__[:80])
import {m} as module\nhelp(module)
from {m} import *
"""
_STANDARD_MODULES = (
    "math cmath decimal fractions statistics random numbers collections itertools functools operator "
    "heapq bisect re string textwrap unicodedata time datetime calendar copy enum dataclasses typing "
    "json csv struct base64 hashlib hmac secrets pprint ast uuid warnings contextlib difflib html"
).split()

_METHODS = r"""
class Thing:\n    def {f}(self, *args):\n        return NotImplemented
"""
_METHOD_NAMES = (
    "__init__ __repr__ __str__ __enter__ __exit__ __len__ __iter__ __next__ __getitem__ __setitem__ "
    "__contains__ __eq__ __lt__ __hash__ __call__ __add__ __bool__ __getattr__ __setattr__ __new__ "
    "__post_init__ __del__ __format__ __getstate__ __setstate__ __class_getitem__ __init_subclass__"
).split()

_LOOSE = r"""
import pandas as pd
import numpy as np, pandas as pd, matplotlib.pyplot as plt
import matplotlib; matplotlib.use('Agg')
print(np.__version__, pd.__version__)
df = pd.read_csv('/workspace/data.csv')
df = pd.read_csv(io.StringIO(context))
from io import StringIO, BytesIO
import io\nbuffer = io.StringIO()\ndf.to_csv(buffer)\nprint(buffer.getvalue()[:200])
df.query('age > 30 and city == "Paris"')
df.query('a > @limit')
df.eval('c = a + b')
pd.eval('df.a + df.b')
model.eval()
model.eval(); torch.no_grad()
df['open'].mean(), df['close'].max()
df.open - df.close
row['open'], row['eval'], row['dir'], row['os'], row['sys'], row['code'], row['input']
ticks = data['open']; ticks.plot()
pattern = re.compile(r'(\w+)@(\w+)')
import re\nfound = re.findall(r'\d+', context)
compiled = [re.compile(p) for p in patterns]
if __name__ == '__main__':\n    main()
print(type(x).__name__)
print(func.__name__, func.__doc__)
f'{type(self).__name__}({self.x!r})'
'{:.2f} {name}'.format(3.14159, name='pi')
'{0[key]} {1.real}'.format(d, 2j)
'{:>10}|{:<10}'.format('a', 'b')
'%s is %d' % ('x', 3)
f'{value:,.2f} {ratio:.1%} {name!r:>20}'
f'{df.shape[0]} rows'
template = 'Hello {name}, you are {age}'\nprint(template.format(**person))
'{}'.format_map(values)
from dataclasses import dataclass, field, asdict\n@dataclass\nclass Point:\n    x: int = 0\n    tags: list = field(default_factory=list)
from collections import Counter, defaultdict, deque, OrderedDict, namedtuple
Counter(words).most_common(10)
P = namedtuple('P', 'x y'); p = P(1, 2); p._asdict(), p._replace(x=3), P._fields
from collections import namedtuple\nP = namedtuple('P', 'x')\nP._make([1])
import collections.abc\nisinstance(x, collections.abc.Mapping)
from typing import Any, Dict, List, Optional
from enum import Enum\nclass Color(Enum):\n    RED = 1
from functools import lru_cache, partial, reduce\n@lru_cache(maxsize=None)\ndef fib(n): return n if n < 2 else fib(n-1) + fib(n-2)
import operator\nsorted(rows, key=operator.itemgetter('name'))
from operator import attrgetter, methodcaller\nsorted(people, key=attrgetter('address.city'))\nlist(map(methodcaller('upper'), words))
sorted(d.items(), key=lambda kv: kv[1], reverse=True)[:5]
json.loads(text)['items'][0]['__typename']
data = json.loads(text); data['__typename'], data['@type']
json.dumps({'__class__': 'Point', 'x': 1})
record['__class__'] = 'Point'
import ast\nast.literal_eval('[1, 2]')
import scipy.io\nscipy.io.loadmat('/workspace/a.mat')
from scipy import signal\npeaks, _ = signal.find_peaks(x)
import scipy.signal as sig\nsig.butter(4, 0.2)
from scipy import stats\nstats.ttest_ind(a, b)
from scipy.optimize import minimize, curve_fit
pd.api.types.is_numeric_dtype(df['a'])
from pandas.api.types import is_string_dtype
pd.io.formats.style.Styler
from skimage import io\nimage = io.imread('/workspace/a.png')
np.select([a > 1, a > 2], ['x', 'y'])
np.trace(matrix)
from PIL import Image\nImage.open('/workspace/a.png').size
import gzip, zipfile
with zipfile.ZipFile('/workspace/a.zip') as z:\n    z.open('a.txt').read()
fig, ax = plt.subplots(figsize=(8, 4))\nax.plot(x, y)\nax.set_xlabel('time')\nplt.show()
plt.hist(values, bins=30); plt.title('x × y – “quoted”')
sns.heatmap(df.corr(), annot=True)
from sklearn.tree import _tree\n_tree.TREE_UNDEFINED
from sklearn.model_selection import train_test_split, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.metrics import accuracy_score, confusion_matrix
import torch.nn as nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(1, 1)\n    def forward(self, input):\n        return self.fc(input)
def forward(input, dir=None, vars=()):\n    return input, dir, vars
input = data[0]\nprint(input)
inputs = [input for input in data]
for input in rows:\n    print(input)
dir = '/workspace'\nprint(dir)
vars = ['a', 'b']\ndf[vars]
open = df['open']\nopen.mean()
def compile(rules):\n    return [r for r in rules]\ncompile([1])
def run():\n    open = 3\n    return open + 1
class Door:\n    def open(self):\n        return self\n    def eval(self):\n        return self.open().eval()
os_counts = df['os'].value_counts()
df.os.value_counts(), df.sys
user.os, user.platform
sys_id = 3
signal = np.sin(t)\nnp.fft.fft(signal)
code = 'A1'\nprint(code)
types = df.dtypes\nprint(types)
resource = records[0]\nresource['id']
trace = [1, 2]\ntrace.append(3)
site = 'north'; http = 'no'; select = [1]; glob = 'x'; print(site, http, select, glob)
import gc\ngc.collect()
from types import SimpleNamespace\ns = SimpleNamespace(a=1)
from urllib.parse import urlparse, quote, parse_qs\nurlparse(url).netloc
import urllib.parse\nurllib.parse.quote('a b')
from inspect import signature\nsignature(f)
import timeit\ntimeit.timeit(lambda: sum(range(100)), number=10)
import timeit\ntimeit.timeit('sum(range(100))', number=10)
from timeit import default_timer
import time\nstart = time.time()\ntime.sleep(0.1)\nprint(time.perf_counter() - start)
import datetime as dt\ndt.datetime.now().isoformat()
from datetime import datetime, timedelta\ndatetime.strptime('2024-01-01', '%Y-%m-%d') + timedelta(days=1)
import logging\nlogging.basicConfig(level=logging.INFO)\nlog = logging.getLogger(__name__)
import warnings\nwarnings.filterwarnings('ignore')
import random\nrandom.seed(0)\nrandom.choice(items)
import string\nstring.ascii_letters
import asyncio\nasync def main():\n    await asyncio.sleep(0)\nawait main()
import asyncio\nasyncio.run(main())
results = await asyncio.gather(*tasks)
import traceback\ntry:\n    1/0\nexcept ZeroDivisionError as e:\n    traceback.print_exc()\n    print(repr(e), e.args)
try:\n    run()\nexcept (KeyError, ValueError) as error:\n    print('failed:', error)\nelse:\n    pass\nfinally:\n    print('done')
raise ValueError('bad') from None
with warnings.catch_warnings():\n    warnings.simplefilter('ignore')
from contextlib import contextmanager, suppress\n@contextmanager\ndef step(name):\n    yield name
import sqlite3\ncon = sqlite3.connect(':memory:')\ncon.execute('select 1').fetchall()
import xml.etree.ElementTree as ET\nET.fromstring(text)
from bs4 import BeautifulSoup\nBeautifulSoup(text, 'html.parser').find_all('a')
import polars as pl\npl.DataFrame({'a': [1]}).select(pl.col('a') * 2)
pl.read_csv('/workspace/a.csv').filter(pl.col('a') > 1)
import networkx as nx\nnx.shortest_path(graph, 1, 2)
from tqdm import tqdm\nfor row in tqdm(rows): pass
import sympy as sp\nx = sp.symbols('x')\nsp.solve(x**2 - 2, x)
%matplotlib inline\nimport matplotlib.pyplot as plt
%timeit sum(range(10))
%%time\ntotal = sum(range(10))
%load_ext autoreload
df.describe?
words = [w.lower() for line in context.splitlines() for w in line.split()]
squares = {n: n ** 2 for n in range(10) if n % 2}
total = sum(x for x in values if x > 0)
matrix = [[0] * 3 for _ in range(3)]
a, *rest = values
if (n := len(values)) > 10:\n    print(n)
while queue:\n    node = queue.pop()
lambda x, y=2: x * y
first, last = name.split(' ', 1)
assert isinstance(x, (int, float)), 'number expected'
del df['a']
del rows[0], x
global_count = 0\ndef bump():\n    global global_count\n    global_count += 1
def outer():\n    n = 0\n    def inner():\n        nonlocal n\n        n += 1\n        return n\n    return inner
def gen(n):\n    yield from range(n)
class Stack(list):\n    __slots__ = ()\n    def push(self, item):\n        self.append(item)
class Base:\n    def __init__(self, x):\n        self._x = x\n        self.__y = 2\n    @property\n    def x(self):\n        return self._x
class Frozen:\n    def __setattr__(self, name, value):\n        super().__setattr__(name, value)
class Meta(type):\n    def __new__(mcs, name, bases, ns):\n        return super().__new__(mcs, name, bases, ns)
self._socket = None; self._code = 1; obj._private
'''A note about __globals__ and {0.__class__}.'''
def f():\n    '''Uses __globals__ of os.'''\n    return 1
# import os; eval('x')
text = "import os is not needed, eval() neither"
print('the class is called __init__.py and __main__')
files = ['__init__.py', '__main__']
path = 'a.b.c'; 'x.y'.split('.')
name = 'df' + '_' + 'clean'
''.join(['a', 'b', 'c'])
'-' * 40
'abc'[::-1]
'{"a": 1}'
"{'a.b': 1}"
r'\d{3}\.\d{4}'
sql = 'select * from t where a.b = {x}'
html = '<b>{}</b>'.format(x)
peek(500)
print(grep('error', context_lines=2))
FINAL('the answer is 42')
FINAL_VAR('answer')
answers = llm_batch([f'Summarise: {c}' for c in chunk_context(4)])
list_dir('/workspace'), file_info('/workspace/a.csv'), context_len()
mark_finding('the key is on line 3'); list_findings(); SHOW_VARS()
help(peek)
for i, line in enumerate(context.splitlines()):\n    if 'error' in line:\n        print(i, line)
é = 1; 变量 = é + 1; π = 3.14
df.loc[df['a'] > 1, 'b'] = 0
df.apply(lambda row: row['a'] + row['b'], axis=1)
df.pipe(clean).assign(c=lambda d: d.a * 2).sort_values('c').head()
df.to_json(orient='records'), df.to_dict('list'), df.to_markdown()
pd.merge(a, b, on='id', how='left')
pd.concat([a, b], ignore_index=True)
pd.to_datetime(df['date']).dt.month
pd.cut(df['age'], bins=[0, 18, 65, 120], labels=['a', 'b', 'c'])
df.pivot_table(index='a', columns='b', values='c', aggfunc='mean')
df['a'].str.contains('x', case=False, na=False)
df['a'].str.extract(r'(\d+)').astype(float)
np.random.default_rng(0).normal(size=(3, 3))
np.linalg.inv(m) @ m
np.where(a > 0, a, 0)
np.load('/workspace/a.npy'); np.save('/workspace/b.npy', a)
arr.astype('float32').reshape(-1, 1)
import hashlib\nhashlib.sha256(text.encode()).hexdigest()
import base64\nbase64.b64decode(data)
import struct\nstruct.unpack('<I', data[:4])
import csv\nlist(csv.DictReader(text.splitlines()))
import heapq\nheapq.nlargest(3, values)
import itertools\nlist(itertools.repeat('-', 3))
import copy\ncopy.deepcopy(config)
import math\nmath.hypot(3, 4), math.inf, math.isclose(a, b)
import statistics\nstatistics.median(values)
from IPython.display import display, HTML\ndisplay(HTML('<b>x</b>'))
isinstance(x, type(None))
issubclass(bool, int)
callable(f), id(x), hash('a'), repr(x), iter(x), next(it)
x = object()
type('Row', (), {'a': 1})
sorted(set(a) & set(b))
print(*values, sep=', ', end='.')
match = re.search('a', text)\nif match:\n    print(match.group(0))
assert not (a or b)
0x_ff + 1_000
...
np.loadtxt('/workspace/a.txt', delimiter=',', skiprows=1)
np.genfromtxt('data.csv', names=True); np.fromfile('/workspace/a.bin', dtype='f4')
np.load('/workspace/a.npy', allow_pickle=False)
np.savetxt('/tmp/a.txt', a); plt.savefig('/workspace/a.png')
df.query("date > @pd.Timestamp('2024-01-01')")
df.query('open > close and volume > @limits.low')
df.agg('mean'); df.agg(['mean', 'sum']); df.groupby('a').agg({'b': 'max'})
pd.read_csv('../data.csv'); pd.read_csv('/data/usr/x.csv')
df.to_pickle('/workspace/a.pkl')
log.count('/etc/passwd'), grep('/etc/passwd'), df[df.path.str.startswith('/proc/')]
import sqlite3\ncon = sqlite3.connect('/workspace/a.db')
def f(x: "np.ndarray", y: 'Optional[list[int]]' = None) -> "pd.DataFrame": ...
from typing import Annotated, Literal\ndef f(mode: Literal['open(x)', 'eval(1)'], n: Annotated[int, 'from eval(x)']): ...
from dataclasses import make_dataclass\nP = make_dataclass('P', [('x', 'int'), ('y', float)])
from unittest.mock import Mock, patch\nwith patch('json.dumps') as p: pass
from sympy import *\nx = symbols('x')\nsolve(x ** 2 - 1, x)
from matplotlib.pyplot import *\nplot([1, 2])
code = 'sum(range(10))'\nimport timeit\ntimeit.timeit(code, number=3)
def import_module(name):\n    return name\nimport_module('x')
class Handle:\n    def get_handle(self):\n        return 1\nHandle().get_handle()
class Calc:\n    def _evaluate(self, a):\n        return self._evaluate(a)
logging.basicConfig(level='INFO', format='%(message)s')
torch.load('/workspace/m.pt', map_location='cpu'); json.load(file)
pd.io.json.build_table_schema(df); pd.io.formats.format
"""


def ordinary_cells():
    """A few hundred of them, one for each line; \\n stands for the end of a line."""
    cells = _LOOSE.strip().split("\n")
    tables = (
        (_NUMPY, [{"f": name} for name in _NUMPY_FUNCTIONS]),
        (_PANDAS, [{"f": name} for name in _PANDAS_FUNCTIONS]),
        (_SKLEARN, [dict(zip("mc", name.split("."))) for name in _SKLEARN_CLASSES]),
        (_STANDARD, [{"m": name} for name in _STANDARD_MODULES]),
        (_METHODS, [{"f": name} for name in _METHOD_NAMES]),
    )
    for table, rows in tables:
        for template in table.strip().split("\n"):
            cells += [_filled(template, row) for row in rows]
    return [cell.replace("\\n", "\n") for cell in cells]


def _filled(template, row):
    for name, value in row.items():
        template = template.replace("{" + name + "}", value)
    return template
