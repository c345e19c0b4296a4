# Cells that load extension modules and leave their objects half used, or change the interpreter's settings.

# %% lzma
import lzma
if "lzma_SLOT" not in globals():
    lzma_SLOT, lzma_out_SLOT = lzma.LZMACompressor(preset=0), []
lzma_out_SLOT.append(lzma_SLOT.compress(b"cell NUM_CELL" * NUM_SIZE))

# %% bz2
import bz2
if "bz2_SLOT" not in globals():
    bz2_SLOT, bz2_out_SLOT = bz2.BZ2Compressor(1), []
bz2_out_SLOT.append(bz2_SLOT.compress(b"cell NUM_CELL" * NUM_B))

# %% zlib
import zlib
if "zlib_SLOT" not in globals():
    zlib_SLOT, zlib_out_SLOT = zlib.compressobj(6), []
    unzip_SLOT = zlib.decompressobj()
    unzipped_SLOT = unzip_SLOT.decompress(zlib.compress(bytes(range(256)) * 100), 1000)
zlib_out_SLOT.append(zlib_SLOT.compress(b"cell NUM_CELL" * NUM_B))
checksum_SLOT = zlib.crc32(b"NUM_CELL", globals().get("checksum_SLOT", 0))

# %% hashes
import hashlib
import hmac
if "sha_SLOT" not in globals():
    sha_SLOT, blake_SLOT = hashlib.sha256(), hashlib.blake2b(digest_size=20)
    signed_SLOT = hmac.new(b"key", digestmod="sha1")
for one in (sha_SLOT, blake_SLOT, signed_SLOT):
    one.update(b"cell NUM_CELL" * NUM_B)
del one

# %% databases in memory
import sqlite3
if "database_SLOT" not in globals():
    database_SLOT = sqlite3.connect(":memory:")
    database_SLOT.execute("create table t (id integer primary key, name text, load blob)")
with database_SLOT:
    rows = [("name %d" % number, bytes([number % 256]) * NUM_B) for number in range(NUM_B)]
    database_SLOT.executemany("insert into t (name, load) values (?, ?)", rows)
    database_SLOT.execute("delete from t where id % ? = 0", (NUM_A + 1,))
del rows

# %% transaction left open
import sqlite3
if "database_SLOT" in globals():
    database_SLOT.execute("update t set name = 'open NUM_CELL' where id % 3 = 0")

# %% cursor half fetched
import sqlite3
if "cursor_SLOT" not in globals():
    cursor_database = sqlite3.connect(":memory:")
    cursor_database.execute("create table t (n integer)")
    cursor_database.executemany("insert into t values (?)", ([number] for number in range(3000)))
    cursor_SLOT = cursor_database.execute("select n from t order by n desc")
fetched_SLOT = cursor_SLOT.fetchmany(NUM_B)

# %% time zones
import datetime
import zoneinfo
try:
    zone_SLOT = zoneinfo.ZoneInfo("Europe/Zurich")
except zoneinfo.ZoneInfoNotFoundError:
    zone_SLOT = datetime.timezone.utc
moment_SLOT = datetime.datetime(2024, 3, NUM_A, NUM_A, tzinfo=zone_SLOT)

# %% decimal context
import decimal
decimal.getcontext().prec = NUM_B
exact_SLOT = decimal.Decimal(1) / decimal.Decimal(7 + NUM_A)
own_context_SLOT = decimal.Context(prec=NUM_A, rounding=decimal.ROUND_DOWN)
own_context_SLOT.divide(decimal.Decimal(1), decimal.Decimal(3))

# %% xml parser
from xml.parsers import expat
if "parser_SLOT" not in globals():
    parser_SLOT, elements_SLOT = expat.ParserCreate(), []
    parser_SLOT.StartElementHandler = lambda name, attributes: elements_SLOT.append((name, attributes))
    parser_SLOT.Parse("<root>")
parser_SLOT.Parse("<item number='NUM_CELL'>text</item>" * NUM_A)

# %% xml trees
import xml.etree.ElementTree as tree_library
tree_of_SLOT = tree_library.fromstring("<a><b x='1'>text</b><c/></a>")
for number in range(NUM_A):
    tree_library.SubElement(tree_of_SLOT, "d", number=str(number)).text = "cell NUM_CELL"

# %% rarely used extensions
import importlib
loaded_SLOT = []
for name in ["audioop", "_curses", "termios", "_crypt", "spwd", "nis", "_dbm", "ossaudiodev"][NUM_A % 3 :: 2]:
    try:
        importlib.import_module(name)
        loaded_SLOT.append(name)
    except ImportError:
        pass

# %% modules of the library
import importlib
names = ["colorsys", "cmd", "sched", "mailbox", "plistlib", "wave", "turtle", "tomllib", "graphlib", "netrc", "ftplib"]
imported_SLOT = []
for name in names[NUM_A :: 3]:
    try:
        imported_SLOT.append(importlib.import_module(name).__name__)
    except ImportError:
        pass
del names

# %% struct
import struct
format_SLOT = struct.Struct("<iqd%ds" % NUM_A)
packed_struct_SLOT = format_SLOT.pack(NUM_CELL, NUM_B, 0.5, b"x" * NUM_A)
unpacking_SLOT = struct.iter_unpack("<h", bytes(range(200)))
next(unpacking_SLOT)

# %% pickles
import copy
import pickle
import io
stream = io.BytesIO()
pickler = pickle.Pickler(stream)
pickler.dump({"cell": NUM_CELL, "list": list(range(NUM_B))})
pickled_SLOT = stream.getvalue()
loaded_again_SLOT = pickle.loads(pickled_SLOT)
copied_deep_SLOT = copy.deepcopy(loaded_again_SLOT)
del stream, pickler

# %% json
import json
decoder_SLOT = json.JSONDecoder(parse_float=str)
decoded_SLOT = decoder_SLOT.decode('{"a": [1.5, 2, {"b": null}], "cell": NUM_CELL}')

# %% locale
import locale
locale.setlocale(locale.LC_ALL, "C" if NUM_A % 2 else "C.UTF-8")

# %% recursion limit
import sys
sys.setrecursionlimit(1000 + NUM_B * 10)
sys.setswitchinterval(NUM_A / 1000)

# %% module search path
import sys
sys.path.insert(0, "/workspace/modules_NUM_CELL")

# %% logging
import io
import logging
if "logged_SLOT" not in globals():
    logged_SLOT = io.StringIO()
    logger_SLOT = logging.getLogger("trial_SLOT")
    logger_SLOT.propagate = False
    logger_SLOT.addHandler(logging.StreamHandler(logged_SLOT))
logger_SLOT.setLevel(NUM_A * 5)
logger_SLOT.warning("cell %d", NUM_CELL)

# %% warnings
import warnings
warnings.filterwarnings("ignore", message="cell NUM_CELL")

# %% changed modules
import builtins
import math
math.trial_SLOT = NUM_CELL
builtins.trial_SLOT = [NUM_CELL]
patched_SLOT = math.trial_SLOT + trial_SLOT[0]

# %% types made at run time
type_SLOT = type("Made_SLOT", (dict,), {"number": NUM_CELL, "double": lambda self: self.number * 2})
made_of_type_SLOT = type_SLOT(a=NUM_A)
compiled_SLOT = compile("NUM_A + x", "made", "eval")
evaluated_SLOT = eval(compiled_SLOT, {"x": NUM_B})
