# Cells that take, write, drop and move memory, as the C library and the kernel see it.

# %% bytes made and dropped
blocks_SLOT = [bytes([number % 256]) * NUM_SIZE for number in range(NUM_B)]
blocks_SLOT = blocks_SLOT[:: NUM_A + 1]

# %% small objects made and dropped
crowd_SLOT = [[number, str(number)] for number in range(NUM_SIZE)]
crowd_SLOT = crowd_SLOT[:: 50]

# %% everything collected
import gc
class Node_SLOT:
    pass
for _ in range(NUM_B):
    node = Node_SLOT()
    node.self = node
    node.load = bytearray(500)
del node
gc.collect();

# %% collector settings
import gc
gc.set_threshold(500 + NUM_B, NUM_A + 5, 10)
if NUM_A % 2:
    gc.disable()
else:
    gc.enable()

# %% weak references
import weakref
class Target_SLOT:
    def __init__(self, name):
        self.name = name
ended_SLOT = []
target_SLOT = Target_SLOT(NUM_CELL)
reference_SLOT = weakref.ref(target_SLOT)
dead_SLOT = weakref.ref(Target_SLOT("gone"))
by_value_SLOT = weakref.WeakValueDictionary({"a": target_SLOT, "b": Target_SLOT("gone")})
if NUM_A % 2:
    finalizer_SLOT = weakref.finalize(target_SLOT, ended_SLOT.append, NUM_CELL)

# %% finalizers
if "deaths" not in globals():
    deaths = []
class Mortal_SLOT:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        deaths.append(self.name)
mortal_SLOT = Mortal_SLOT("m%d" % NUM_CELL)
Mortal_SLOT("short %d" % NUM_CELL)

# %% large bytes kept
large_SLOT = bytearray(NUM_SIZE * 256)
large_SLOT[NUM_B::4096] = bytes([NUM_A]) * len(large_SLOT[NUM_B::4096])

# %% private mapping
import mmap
if "mapping_SLOT" not in globals() or mapping_SLOT.closed:
    mapping_SLOT = mmap.mmap(-1, 4096 * NUM_B, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(0, len(mapping_SLOT), 4096 * NUM_A):
    mapping_SLOT[page] = (mapping_SLOT[page] + NUM_B) % 256
mapping_SLOT.seek(NUM_A)
mapping_SLOT.write(b"cell NUM_CELL")

# %% mapping that moves
import mmap
if "moving_SLOT" not in globals():
    moving_SLOT = mmap.mmap(-1, 8192, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
moving_SLOT[0] = (moving_SLOT[0] + NUM_A) % 256
moving_SLOT.resize(4096 * (NUM_B + NUM_A))
moving_SLOT[4096 * NUM_B] = NUM_A

# %% mapping that is emptied
import mmap
if "emptied_SLOT" not in globals():
    emptied_SLOT = mmap.mmap(-1, 4096 * 64, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
emptied_SLOT[:] = bytes([NUM_B]) * len(emptied_SLOT)
emptied_SLOT.madvise(mmap.MADV_DONTNEED, 4096 * NUM_A, 4096 * NUM_A)

# %% mapping emptied without a write
import mmap
if "emptied_SLOT" in globals():
    emptied_SLOT.madvise(mmap.MADV_DONTNEED, 4096 * (NUM_A + 20), 4096 * NUM_A)

# %% mapping closed
if "mapping_SLOT" in globals():
    mapping_SLOT.close()

# %% huge pages wanted
import mmap
huge_SLOT = mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
huge_SLOT.madvise(mmap.MADV_HUGEPAGE)
huge_SLOT[:: 65536] = bytes([NUM_A]) * 64

# %% huge pages written
if "huge_SLOT" in globals():
    huge_SLOT[NUM_B * 4096] = NUM_A

# %% private file mapping
import mmap
with open("/workspace/mapped_NUM_CELL", "wb") as made:
    made.write(bytes(range(256)) * NUM_B)
with open("/workspace/mapped_NUM_CELL", "rb") as made:
    copied_SLOT = mmap.mmap(made.fileno(), 0, access=mmap.ACCESS_COPY)
copied_SLOT[NUM_A] = NUM_B
copied_SLOT[-1] = NUM_A

# %% private file mapping written
if "copied_SLOT" in globals():
    copied_SLOT[len(copied_SLOT) // 2] = NUM_A
    copied_SLOT[NUM_A * 7] = NUM_B

# %% protected mapping
import ctypes
import mmap
libc = ctypes.CDLL(None, use_errno=True)
sealed_SLOT = mmap.mmap(-1, 4096 * 4, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
sealed_SLOT.write(b"sealed NUM_CELL")
address = ctypes.addressof(ctypes.c_char.from_buffer(sealed_SLOT))
libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(4096), mmap.PROT_READ)
del address

# %% mapping that takes another's place
import mmap
if "upper_SLOT" not in globals() or upper_SLOT.closed:
    # The second one is put below the first.
    upper_SLOT = mmap.mmap(-1, 4096 * 16, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    lower_SLOT = mmap.mmap(-1, 4096 * 16, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    upper_SLOT[NUM_A] = lower_SLOT[NUM_A] = NUM_B
else:
    upper_SLOT.close()
    lower_SLOT.resize(4096 * 32)
    lower_SLOT[4096 * 20] = NUM_B

# %% rights that change places
import ctypes
import mmap
if "rights_SLOT" not in globals():
    libc = ctypes.CDLL(None, use_errno=True)
    rights_SLOT = [mmap.mmap(-1, 4096 * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(2)]
    def protect_SLOT(mapping, rights):
        address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
        libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(len(mapping)), rights)
    protect_SLOT(rights_SLOT[1], mmap.PROT_READ)
rights_SLOT.reverse()
protect_SLOT(rights_SLOT[0], mmap.PROT_READ | mmap.PROT_WRITE)
protect_SLOT(rights_SLOT[1], mmap.PROT_READ)
rights_SLOT[0][NUM_A * 1000] = NUM_B

# %% C buffers
import ctypes
if "buffer_SLOT" not in globals():
    buffer_SLOT = ctypes.create_string_buffer(NUM_SIZE)
    class Record_SLOT(ctypes.Structure):
        _fields_ = [("number", ctypes.c_int), ("weight", ctypes.c_double)]
    records_SLOT = (Record_SLOT * 20)()
ctypes.memset(buffer_SLOT, NUM_B, NUM_A)
records_SLOT[NUM_A].number += NUM_CELL
records_SLOT[NUM_A].weight += NUM_B / 7

# %% memory of the C library
import ctypes
if "heap_memory_SLOT" not in globals():
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    class HeapMemory_SLOT:
        def __init__(self, size):
            self.size, self.address = size, libc.malloc(ctypes.c_size_t(size))
            ctypes.memset(self.address, 0, size)

        def __trial__(self):
            return ctypes.string_at(self.address, self.size)

    heap_memory_SLOT = HeapMemory_SLOT(NUM_SIZE * 16)
ctypes.memset(heap_memory_SLOT.address + NUM_B * NUM_A, NUM_B, heap_memory_SLOT.size // 3);

# %% memory given back
import ctypes
ballast = [bytearray(200_000) for _ in range(NUM_B)]
del ballast
ctypes.CDLL(None).malloc_trim(0)

# %% read into place
if "filled_SLOT" not in globals():
    filled_SLOT = bytearray(NUM_SIZE * 16)
with open("/workspace/source_NUM_CELL", "wb") as made:
    made.write(bytes([NUM_B]) * (len(filled_SLOT) // 2))
with open("/workspace/source_NUM_CELL", "rb", buffering=0) as made:
    made.readinto(memoryview(filled_SLOT)[NUM_A * 1000:])

# %% deep recursion
import sys
import json
sys.setrecursionlimit(20_000)
def deep_SLOT(level, values):
    return level if level == 0 else max([level - 1], key=lambda one: deep_SLOT(one, values)) + 1
depth_SLOT = deep_SLOT(NUM_B * 12, [])
nested_depth_SLOT = str(json.loads("[" * (NUM_B * 20) + "]" * (NUM_B * 20))).count("[")
sys.setrecursionlimit(1000 + NUM_B)

# %% BytesIO
import io
if "memory_file_SLOT" not in globals():
    memory_file_SLOT, memory_text_SLOT = io.BytesIO(), io.StringIO()
memory_file_SLOT.write(bytes(range(NUM_B)) * NUM_A)
memory_file_SLOT.seek(NUM_A)
memory_text_SLOT.write("line %d\n" % NUM_CELL)
