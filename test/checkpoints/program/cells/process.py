# Cells that change the process itself: threads, children, signals and the like.

# %% threads
import threading
marks_SLOT = []
def mark_SLOT(number):
    marks_SLOT.append(number)
workers = [threading.Thread(target=mark_SLOT, args=(number,)) for number in range(NUM_A)]
for worker in workers:
    worker.start()
    worker.join()
del workers, worker

# %% thread pool
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(3) as pool_SLOT:
    mapped_SLOT = list(pool_SLOT.map(lambda number: number ** 2 % NUM_B, range(NUM_B)))
del pool_SLOT

# %% pool of multiprocessing's threads
from multiprocessing.pool import ThreadPool
workers = ThreadPool(2)
squared_SLOT = workers.map(lambda number: number * NUM_A, range(NUM_B))
workers.close()
workers.join()
del workers

# %% thread that writes a lot
import threading
if "written_SLOT" not in globals():
    written_SLOT = bytearray(NUM_SIZE * 64)
def fill_SLOT():
    for index in range(NUM_A, len(written_SLOT), 4096):
        written_SLOT[index] = (written_SLOT[index] + NUM_B) % 256
worker = threading.Thread(target=fill_SLOT)
worker.start()
worker.join()
del worker

# %% locks
import threading
lock_SLOT, again_SLOT, event_SLOT = threading.Lock(), threading.RLock(), threading.Event()
lock_SLOT.acquire()
again_SLOT.acquire()
if NUM_A % 2:
    lock_SLOT.release()
    event_SLOT.set()
semaphore_SLOT = threading.Semaphore(NUM_A)
semaphore_SLOT.acquire()

# %% thread-local values
import threading
if "local_SLOT" not in globals():
    local_SLOT = threading.local()
    local_SLOT.seen = []
local_SLOT.seen.append(NUM_CELL)

# %% queue
import queue
if "tasks_SLOT" not in globals():
    tasks_SLOT = queue.Queue()
for number in range(NUM_A):
    tasks_SLOT.put((NUM_CELL, number))
got_SLOT = tasks_SLOT.get_nowait()

# %% programs
import subprocess
import sys
ran_SLOT = subprocess.run(["/bin/echo", "cell", "NUM_CELL"], capture_output=True, text=True)
counted_out_SLOT = subprocess.run([sys.executable, "-S", "-c", "print(sum(range(NUM_B)))"], capture_output=True).stdout

# %% fork
import os
child = os.fork()
if child == 0:
    for name in list(globals()):
        if isinstance(globals()[name], (list, bytearray)):
            globals()[name] *= 2
    os._exit(NUM_A)
exited_SLOT = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
del child

# %% process of multiprocessing
import multiprocessing
def work_SLOT():
    raise SystemExit(NUM_A)
process = multiprocessing.get_context("fork").Process(target=work_SLOT)
process.start()
process.join()
multiprocessed_SLOT = process.exitcode
del process

# %% environment
import os
import subprocess
os.environ["TRIAL_SLOT"] = "cell NUM_CELL"
os.environ.pop("TRIAL_%d" % (NUM_A % 3), None)
shown = ["/bin/sh", "-c", "echo $TRIAL_0 $TRIAL_1 $TRIAL_2"]
seen_outside_SLOT = subprocess.run(shown, capture_output=True).stdout
del shown

# %% working folder
import os
os.makedirs("/workspace/folder_NUM_CELL", exist_ok=True)
os.chdir("/workspace/folder_NUM_CELL")

# %% working folder back
import os
os.chdir("/workspace")

# %% umask
import os
old_umask_SLOT = os.umask(0o22 + NUM_A % 8)

# %% signal handlers
import os
import signal
if "signalled" not in globals():
    signalled = []
def on_signal_SLOT(number, frame):
    signalled.append(("slot_SLOT", number, NUM_CELL))
signal.signal(signal.SIGUSR1, on_signal_SLOT)
os.kill(os.getpid(), signal.SIGUSR1)

# %% signals that interrupt
import signal
signal.signal(signal.SIGUSR2, lambda number, frame: None)
signal.siginterrupt(signal.SIGUSR2, NUM_A % 2 == 0)
interrupts_SLOT = NUM_A % 2 == 0

# %% handlers of C
import faulthandler
import signal
signal.signal(signal.SIGTERM, lambda number, frame: None)
if NUM_A % 2:
    faulthandler.register(signal.SIGTERM, file=open("/dev/null", "w"))
    registered_SLOT = True

# %% signals ignored
import signal
signal.signal(signal.SIGUSR2, signal.SIG_IGN if NUM_A % 2 else signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_IGN)

# %% signals blocked
import signal
signal.pthread_sigmask(signal.SIG_BLOCK if NUM_A % 2 else signal.SIG_UNBLOCK, {signal.SIGWINCH, signal.SIGURG})

# %% alarm that rings
import signal
import time
rung_SLOT = []
signal.signal(signal.SIGALRM, lambda number, frame: rung_SLOT.append(NUM_CELL))
signal.setitimer(signal.ITIMER_REAL, 0.002)
while not rung_SLOT:
    time.sleep(0.001)

# %% limits
import resource
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
resource.setrlimit(resource.RLIMIT_STACK, ((8 << 20) - NUM_B * 4096, resource.getrlimit(resource.RLIMIT_STACK)[1]))

# %% fault handler
import faulthandler
faulthandler.enable()
fault_SLOT = faulthandler.is_enabled()

# %% asyncio run
import asyncio
async def double_SLOT(number):
    await asyncio.sleep(0)
    return number * 2
async def all_SLOT():
    return await asyncio.gather(*(double_SLOT(number) for number in range(NUM_A)))
doubled_SLOT = asyncio.run(all_SLOT())

# %% await in a cell
import asyncio
async def later_SLOT(number):
    await asyncio.sleep(0.001)
    return [number, NUM_CELL]
awaited_SLOT = await asyncio.gather(later_SLOT(1), later_SLOT(2))
async_queue_SLOT = asyncio.Queue()
await async_queue_SLOT.put(NUM_B)

# %% coroutine not finished
class Once_SLOT:
    def __await__(self):
        yield NUM_CELL
async def half_done_SLOT(values):
    values.append("begun")
    await Once_SLOT()
    values.append("ended")
progress_SLOT = []
coroutine_SLOT = half_done_SLOT(progress_SLOT)
coroutine_SLOT.send(None)

# %% asynchronous generator
import asyncio
async def numbers_of_SLOT():
    for number in range(NUM_B):
        yield number
stream_SLOT = numbers_of_SLOT()
streamed_SLOT = [await stream_SLOT.__anext__() for _ in range(NUM_A)]

# %% context variables
import contextvars
if "setting_SLOT" not in globals():
    setting_SLOT = contextvars.ContextVar("setting_SLOT", default=0)
context_SLOT = contextvars.copy_context()
context_SLOT.run(setting_SLOT.set, NUM_CELL)
