# Cells with open files. The content of a file is not rolled back, so each name is used once and what is
# compared is only what lies before the offset of a file object.

# %% file written and closed
with open("/workspace/closed_NUM_CELL.txt", "w") as closed_SLOT:
    closed_SLOT.write("cell NUM_CELL\n" * NUM_B)
read_back_SLOT = open("/workspace/closed_NUM_CELL.txt").read()

# %% file kept open for writing
if "log_SLOT" not in globals() or log_SLOT.closed:
    log_SLOT = open("/workspace/log_NUM_CELL.txt", "w")
log_SLOT.write("cell NUM_CELL " * NUM_B)
if NUM_A % 2:
    log_SLOT.flush()

# %% binary file kept open for writing
if "record_SLOT" not in globals() or record_SLOT.closed:
    record_SLOT = open("/workspace/record_NUM_CELL.bin", "w+b")
record_SLOT.write(bytes([NUM_B]) * NUM_SIZE)
if NUM_A % 3 == 0:
    record_SLOT.flush()

# %% file half read
if "half_SLOT" not in globals() or half_SLOT.closed:
    with open("/workspace/half_NUM_CELL.txt", "w") as made:
        made.writelines("line %d of é\n" % number for number in range(20_000))
    half_SLOT = open("/workspace/half_NUM_CELL.txt")
lines_SLOT = [half_SLOT.readline() for _ in range(NUM_B)]

# %% binary file half read
if "source_SLOT" not in globals() or source_SLOT.closed:
    with open("/workspace/binary_NUM_CELL", "wb") as made:
        made.write(bytes(range(256)) * 1000)
    source_SLOT = open("/workspace/binary_NUM_CELL", "rb")
chunk_SLOT = source_SLOT.read(NUM_SIZE // NUM_A)
source_SLOT.seek(NUM_A, 1)

# %% unbuffered file
import os
if "descriptor_SLOT" not in globals():
    descriptor_SLOT = os.open("/workspace/raw_NUM_CELL", os.O_RDWR | os.O_CREAT, 0o640)
os.write(descriptor_SLOT, b"x" * NUM_B)

# %% file without a name
import tempfile
if "nameless_SLOT" not in globals():
    nameless_SLOT = tempfile.TemporaryFile(dir="/workspace")
nameless_SLOT.write(b"nameless NUM_CELL" * NUM_B)
nameless_SLOT.flush()

# %% file that is removed while open
import os
removed_SLOT = open("/workspace/removed_NUM_CELL", "w+b")
removed_SLOT.write(b"gone" * NUM_B)
removed_SLOT.seek(NUM_A)
os.unlink("/workspace/removed_NUM_CELL")

# %% file in memory
import os
if "memfd_SLOT" not in globals():
    memfd_SLOT = open(os.memfd_create("trial"), "w+b")
memfd_SLOT.write(b"memory NUM_CELL" * NUM_B)

# %% descriptor twice
import os
if "log_SLOT" in globals() and not log_SLOT.closed and "twice_SLOT" not in globals():
    twice_SLOT = os.open(log_SLOT.name, os.O_RDONLY)
    os.set_inheritable(twice_SLOT, NUM_A % 2 == 0)

# %% folder kept open
import os
if "folder_SLOT" not in globals():
    folder_SLOT = os.open("/workspace", os.O_RDONLY | os.O_DIRECTORY)

# %% files closed
for name in ("log_SLOT", "half_SLOT", "record_SLOT", "source_SLOT"):
    if name in globals() and NUM_A % 2:
        globals()[name].close()

# %% csv reader half read
import csv
if "reader_SLOT" not in globals():
    with open("/workspace/table_NUM_CELL.csv", "w", newline="") as made:
        csv.writer(made).writerows([number, "text, %d" % number] for number in range(3000))
    reader_file_SLOT = open("/workspace/table_NUM_CELL.csv", newline="")
    reader_SLOT = csv.reader(reader_file_SLOT)
rows_SLOT = [next(reader_SLOT, None) for _ in range(NUM_B)]

# %% module from a file
import importlib.util
import sys
with open("/workspace/module_NUM_CELL.py", "w") as made:
    made.write("count = NUM_A\ndef bump():\n    global count\n    count += 1\n    return count\n")
spec = importlib.util.spec_from_file_location("module_NUM_CELL", "/workspace/module_NUM_CELL.py")
module_SLOT = importlib.util.module_from_spec(spec)
sys.modules["module_NUM_CELL"] = module_SLOT
spec.loader.exec_module(module_SLOT)
bumped_SLOT = module_SLOT.bump()
del spec

# %% compressed file half read
import gzip
with gzip.GzipFile("/workspace/packed_NUM_CELL.gz", "wb", mtime=0) as made:
    made.writelines(b"packed %d\n" % number for number in range(5000))
packed_SLOT = gzip.open("/workspace/packed_NUM_CELL.gz", "rt")
packed_lines_SLOT = [packed_SLOT.readline() for _ in range(NUM_B)]

# %% shelf of files
import zipfile
with zipfile.ZipFile("/workspace/shelf_NUM_CELL.zip", "w", zipfile.ZIP_DEFLATED) as made:
    for number in range(NUM_A):
        made.writestr(zipfile.ZipInfo("entry %d" % number), "content %d" % number * NUM_B)
shelf_SLOT = zipfile.ZipFile("/workspace/shelf_NUM_CELL.zip")
entries_SLOT = [shelf_SLOT.read(name) for name in shelf_SLOT.namelist()]

# %% file replaced under its name
import os
if "saved_SLOT" in globals():
    saved_SLOT.close()
with open("/workspace/saved_SLOT.new", "w") as made:
    made.write("cell NUM_CELL\n" * NUM_B)
os.replace("/workspace/saved_SLOT.new", "/workspace/saved_SLOT.txt")
saved_SLOT = open("/workspace/saved_SLOT.txt")
saved_line_SLOT = saved_SLOT.readline()

# %% file in memory replaced
import os
if "memfd_SLOT" in globals():
    memfd_SLOT.close()
    memfd_SLOT = open(os.memfd_create("trial"), "w+b")
    memfd_SLOT.write(b"another NUM_CELL" * NUM_B)
    memfd_SLOT.flush()
