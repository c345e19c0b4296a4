"""What the policy refuses, and what to write instead."""

from __future__ import annotations

from ..pristine import BUILTINS as __builtins__

_FILES = "peek(file=...) and grep(pattern, file=...) read files, list_dir() finds them"
_NETWORK = "there is no network here: work with the context and the files in /workspace"
_PROCESSES = "other programs cannot be started here: do the work in Python"
_DIRECT = "write the code directly in the cell"
_THREADS = "run the steps one after another; llm_batch([...]) asks several questions at once"
_MODULES = "import the modules you need by name with a plain import statement"
_PICKLES = "variables stay between cells; use json or csv for data that must be written"
_PACKAGES = "packages are added from outside: cellar install ..."
_INNER = "this is internal to the interpreter: use the public methods of objects"
_DEBUGGER = "print the values you want to see"
_MEMORY = "use numpy arrays or bytes: raw memory is not accessible"
_FRAMES = "frames and code objects are not accessible: use variables and return values"
_STATE = "name the attributes you need; dataclasses.asdict(obj) is for dataclasses"
_TEXT = "use io.StringIO and io.BytesIO for data in memory; "
_ARRAYS = "np.load(file) and np.fromfile(file, count=..., offset=...) read arrays"
_LOGS = "logging.basicConfig(level=...) writes to the output of the cell"
_HINTS = "inspect.signature(f) and dataclasses.fields(kind) give names and annotations"

FORMAT_HINT = "use an f-string with the value itself"
STRING_HINT = "such names are refused in strings too: use the public methods of objects"
SHELL_HINT = _PROCESSES + "; list_dir(), peek(file=...) and grep(...) look into files"
MAGIC_HINT = "write plain Python instead of magics"
PRIVATE_HINT = "use the public names of the module"
SYNTAX_HINT = "send complete and valid Python"
NESTING_HINT = "split the expression into several statements"


def _table(*groups):
    return {name: hint for names, hint in groups for name in names.split()}


# Refused modules, with alternatives.
MODULES = _table(
    ("os posix nt posixpath ntpath genericpath pathlib shutil tempfile", _FILES),
    ("glob fileinput filecmp linecache pwd grp getpass", _FILES),
    ("io", _TEXT + _FILES),
    ("sys sysconfig site atexit", "print() writes output, and the data is in the context"),
    ("subprocess pty tty termios fcntl resource signal select selectors", _PROCESSES),
    ("pexpect sh plumbum psutil docker fabric paramiko", _PROCESSES),
    ("socket socketserver ssl http urllib urllib2 urllib3 requests httpx aiohttp", _NETWORK),
    ("httplib2 pycurl boto3 websocket websockets ftplib smtplib smtpd poplib", _NETWORK),
    ("imaplib nntplib telnetlib xmlrpc asyncore asynchat wsgiref webbrowser", _NETWORK),
    ("multiprocessing threading concurrent", _THREADS),
    ("ctypes cffi mmap msvcrt winreg", _MEMORY),
    ("pickle cPickle dill cloudpickle marshal shelve dbm copyreg", _PICKLES),
    ("importlib imp zipimport zipapp pkgutil pkg_resources runpy pydoc builtins", _MODULES),
    ("ensurepip venv pip setuptools distutils", _PACKAGES),
    ("code codeop cProfile profile trace doctest rlcompleter idlelib", _DIRECT),
    ("inspect annotationlib gc types dis opcode symtable faulthandler cellar_runner", _INNER),
    ("pdb bdb", _DEBUGGER),
)

# Refused modules of which these members may be imported.
MEMBERS = {
    module: frozenset(names.split())
    for module, names in (
        ("io", "StringIO BytesIO TextIOBase IOBase SEEK_SET SEEK_CUR SEEK_END"),
        ("gc", "collect enable disable isenabled freeze"),
        ("types", "SimpleNamespace MappingProxyType NoneType GenericAlias UnionType GeneratorType"),
        ("urllib", "parse error"),
        ("http", "HTTPStatus"),
        ("inspect", "signature Signature Parameter getdoc cleandoc isfunction isclass ismethod"),
    )
}

# Refused parts of allowed packages.
PARTS = _table(
    ("numpy.f2py numpy.distutils asyncio.subprocess", _PROCESSES),
    ("asyncio.create_subprocess_exec asyncio.create_subprocess_shell", _PROCESSES),
    ("asyncio.open_connection asyncio.open_unix_connection", _NETWORK),
    ("asyncio.start_server asyncio.start_unix_server", _NETWORK),
    ("asyncio.to_thread", _THREADS),
    ("numpy.ctypeslib", _MEMORY),
    ("numpy.memmap numpy.lib.format.open_memmap", _ARRAYS),
    ("numpy.DataSource numpy.lib.npyio.DataSource numpy.lib._datasource", _FILES),
    ("numpy.testing._private numpy.testing.runstring numpy.testing.rundocs", _DIRECT),
    ("numpy.testing.measure", _DIRECT),
    ("pandas.compat", _MODULES),
    ("pandas.io.common", "pd.read_csv(...), pd.read_json(...) and their like read data"),
    ("pandas.read_pickle pandas.io.pickle joblib.load", _PICKLES),
    ("yaml.unsafe_load yaml.unsafe_load_all yaml.UnsafeLoader", "use yaml.safe_load(text)"),
    ("logging.config logging.handlers logging.FileHandler", _LOGS),
    ("string.Formatter", FORMAT_HINT),
    ("IPython.get_ipython IPython.core IPython.InteractiveShell IPython.utils IPython.lib", MAGIC_HINT),
    ("IPython.terminal IPython.embed IPython.start_ipython IPython.extensions", MAGIC_HINT),
)

# Modules that others carry along. `code`, `io`, `signal` or `types` are not among them: many
# packages have a part of that name.
CARRIED = frozenset(
    "os sys subprocess posix nt posixpath ntpath pathlib shutil tempfile socket ctypes pickle "
    "importlib builtins pkgutil runpy codeop threading marshal mmap pty fcntl linecache".split()
)

# Functions that import, open or evaluate a text, in any module.
CARRIED_CALLS = _table(
    ("import_optional_dependency import_module", _MODULES),
    ("get_handle", _FILES),
    ("get_type_hints evaluate_forward_ref ForwardRef", _HINTS),
)

_CARRIED_PARTS = ("pandas.compat", "pandas.io.common", "pandas.io.pickle")

# The last parts of refused paths, for a quick check.
LAST_STEPS = frozenset(path.rpartition(".")[2] for path in PARTS) | frozenset(CARRIED_CALLS)

# Refused builtins, in any use.
CALLS = _table(
    ("eval exec", _DIRECT + "; ast.literal_eval(text) and json.loads(text) read data"),
    ("compile", _DIRECT),
    ("open", _FILES),
    ("getattr", "write obj.name directly"),
    ("setattr", "write obj.name = value directly"),
    ("delattr", "write del obj.name directly"),
    ("hasattr", "use isinstance(obj, kind), or catch the AttributeError of obj.name"),
    ("globals locals", "use the names directly; SHOW_VARS() lists them"),
    ("vars", _STATE),
    ("dir", "help(obj) tells what it offers; SHOW_VARS() lists your variables"),
    ("input", "a cell cannot ask for input: assign the value in the code"),
    ("breakpoint", _DEBUGGER),
    ("memoryview", _MEMORY),
    ("get_ipython __cellar__", MAGIC_HINT),
    ("__import__ __loader__ __spec__", _MODULES),
    ("__builtins__ __build_class__", _INNER),
)

# Popular names for variables, and harmless as builtins.
MILD_CALLS = frozenset("input dir vars hasattr memoryview".split())

# Cells may not bind or delete these either.
FIXED_NAMES = frozenset(name for name in CALLS if name.startswith("__"))

# Refused attributes of any object.
ATTRIBUTES = _table(
    ("__class__", "type(obj) gives the class, type(obj).__name__ its name"),
    ("__bases__ __base__ __mro__ mro __subclasses__", "use isinstance() or issubclass()"),
    ("__dict__ __weakref__", _STATE),
    ("__globals__ __locals__ __code__ __closure__ __func__ __self__", _FRAMES),
    ("__defaults__ __kwdefaults__ __wrapped__ __objclass__ func_globals func_code", _FRAMES),
    ("__builtins__ __import__ __build_class__ __loader__ __spec__", _MODULES),
    ("__path__ __file__ __cached__", _FILES),
    ("__module__ __qualname__ __annotations__ __annotate__", "type(obj).__name__ gives a name"),
    ("__reduce__ __reduce_ex__ __getstate__ __setstate__", "copy.deepcopy(obj) copies objects"),
    ("__getnewargs__ __getnewargs_ex__", "copy.deepcopy(obj) copies objects"),
    ("__getattribute__ __setattr__ __delattr__", "read and write obj.name directly"),
    ("__traceback__ tb_frame tb_next", "traceback.format_exc() gives the text of an error"),
    ("gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await cr_origin", _FRAMES),
    ("ag_frame ag_code ag_await f_back f_globals f_locals f_builtins f_code", _FRAMES),
    ("f_trace f_generator co_code co_consts co_names", _FRAMES),
)

# Real data has such keys; in a string alone they are harmless.
DATA_KEYS = frozenset("__class__ __dict__ __module__ __qualname__ __file__ __path__ mro".split())

# Methods that decide what an unpickled copy runs.
METHODS = frozenset(("__reduce__", "__reduce_ex__"))

# The public side of named tuples.
TUPLE_NAMES = frozenset("_asdict _fields _field_defaults _make _replace".split())

# Functions that take code or the path to an attribute as text.
PATH_CALLS = frozenset(
    "attrgetter methodcaller get_field eval query timeit repeat Timer getattr "
    "make_dataclass agg aggregate patch".split()
)
# Those that take statements.
CODE_CALLS = frozenset(("timeit", "repeat", "Timer"))

# Options of any call that are refused unless switched off.
OPTIONS = _table(("allow_pickle", _PICKLES), ("eval_str", _HINTS), ("mmap_mode", _ARRAYS))
LOG_FILE_HINT = _LOGS

# Functions that read or write the file they are given.
FILE_CALLS = frozenset(
    "loadtxt genfromtxt fromfile load memmap savetxt save savez tofile fromregex DataSource "
    "read_csv read_table read_fwf read_json read_excel read_parquet read_feather read_html read_xml "
    "read_orc read_stata read_sas read_spss read_hdf read_pickle read_ipc read_ndjson scan_csv "
    "scan_parquet scan_ndjson to_csv to_json to_parquet to_excel to_feather to_pickle write_csv "
    "write_parquet ZipFile TarFile GzipFile BZ2File LZMAFile connect FileHandler get_handle parse "
    "iterparse imread imsave savefig loadmat savemat open read".split()
)
# System folders, which have no user data.
SYSTEM_FOLDERS = frozenset("etc proc sys dev root boot run usr bin sbin lib lib64".split())
PATH_HINT = "the data is in the context and in /workspace: list_dir() shows the files there"

# Magics that do nothing here, or only show something.
HARMLESS_MAGICS = frozenset(
    "matplotlib unload_ext autoreload config colors xmode precision pdb who whos lsmagic html HTML "
    "javascript js latex markdown svg SVG".split()
)
# Magics whose text is code.
CODE_MAGICS = frozenset(("time", "timeit"))
# Magics whose text is the name of a module.
IMPORT_MAGICS = frozenset(("aimport", "load_ext", "reload_ext"))

# Modules of the standard library that only compute.
COMPUTING = frozenset(
    "__future__ abc array ast base64 binascii bisect calendar cmath collections colorsys "
    "contextlib copy csv dataclasses datetime decimal difflib enum fractions functools graphlib hashlib heapq "
    "hmac html io itertools json keyword logging math numbers operator pprint queue random re "
    "reprlib secrets statistics string struct textwrap time traceback types typing unicodedata "
    "urllib uuid warnings weakref xml zlib zoneinfo gc".split()
)
SCIENCE = frozenset(
    "numpy scipy sympy pandas polars pyarrow matplotlib seaborn plotly altair bokeh sklearn "
    "statsmodels networkx xgboost lightgbm catboost torch nltk spacy transformers tiktoken bs4 "
    "lxml yaml dateutil pytz tqdm tabulate rapidfuzz regex toolz more_itertools shapely geopandas "
    "PIL cv2 skimage openpyxl numexpr numba joblib duckdb rich typing_extensions".split()
)
# What restricted cells may import.
ALLOWED = COMPUTING | SCIENCE


def refused_import(path: str) -> tuple[str, str] | None:
    """(name, hint) if this module must not be imported, or None."""
    top, _, rest = path.partition(".")
    if top in MEMBERS:
        part = rest.partition(".")[0]
        return refused_member(top, part) if part else None
    if top in MODULES:
        return top, MODULES[top]
    if top.startswith("_") and top not in ("__future__", "__main__"):
        return top, PRIVATE_HINT
    return refused_part(path)


def refused_member(module: str, name: str) -> tuple[str, str] | None:
    """(name, hint) if the name must not be taken from this module, or None."""
    path = module + "." + name
    if module in MEMBERS:
        return None if name in MEMBERS[module] else (path, MODULES[module])
    if path in PARTS:
        return path, PARTS[path]
    return (name, CARRIED_CALLS[name]) if name in CARRIED_CALLS else None


def refused_part(path: str) -> tuple[str, str] | None:
    """(path, hint) of the refused part that contains this path, or None."""
    while path:
        if path in PARTS:
            return path, PARTS[path]
        path = path.rpartition(".")[0]
    return None


def refused_origin(module: object) -> tuple[str, str] | None:
    """(module, hint) if what this module defines must not be taken from another one."""
    if not isinstance(module, str):
        return None
    top = module.partition(".")[0]
    if top in CARRIED and top != "builtins":
        return top, MODULES[top]
    return refused_part(module) if module.startswith(_CARRIED_PARTS) else None
