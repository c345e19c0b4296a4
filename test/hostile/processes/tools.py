kept = 7
import array, ctypes, fcntl, json, os, resource, select, signal, socket, struct, sys, threading, time

libc = ctypes.CDLL(None, use_errno=True)


def frame(body):
    """A message or raw bytes as one frame of the channel."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return struct.pack(">I", len(body)) + body


def send(data):
    """Writes bytes to the channel of the host, all of them."""
    view = memoryview(data)
    while view:
        view = view[os.write(1100, view) :]


def say(*bodies):
    send(b"".join(map(frame, bodies)))


def note(method, **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def ask(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def hear(seconds=2.0):
    """The next frame that the host sends, or None."""
    poll = select.poll()
    poll.register(1100, select.POLLIN)
    if not poll.poll(seconds * 1000):
        return None
    (size,) = struct.unpack(">I", os.read(1100, 4))
    body = b""
    while len(body) < size:
        body += os.read(1100, size - len(body))
    return json.loads(body)


def service():
    """The runner's own object behind the functions that cells are given."""
    cells = [cell.cell_contents for cell in llm_query.__closure__]
    return next(cell for cell in cells if hasattr(cell, "_service"))._service


def own_step():
    """The step of the cell that runs."""
    return service().interrupts.step


def own_request():
    """The id of the request that the cell is, as the runner's frames hold it."""
    frames = sys._getframe()
    while frames is not None:
        if "identifier" in frames.f_locals and "message" in frames.f_locals:
            return frames.f_locals["identifier"]
        frames = frames.f_back


def answer(number, text):
    """A forged answer to `execute`."""
    return {
        "jsonrpc": "2.0",
        "id": number,
        "result": {
            "status": "ok",
            "error": None,
            "result": {"text/plain": text},
            "exit_code": None,
            "duration_ms": 1,
            "checkpoint": {"planned": False},
            "output": {"pieces": [], "omitted": {"stdout": 0, "stderr": 0}},
        },
    }


def link():
    """The link to init."""
    return socket.socket(fileno=os.dup(1101))


def spare():
    """The link on which the next checkpoint will wait, which it still gets."""
    high()
    with link() as to_init:
        poll = select.poll()
        poll.register(to_init, select.POLLIN)
        # The first one may still be on its way.
        while poll.poll(0 if service().checkpoints.copies._has_spare else 2000):
            _, ancillary, _, _ = to_init.recvmsg(100, 100)
            for _, _, data in ancillary:
                os.dup2(struct.unpack("=i", data[:4])[0], 1104, inheritable=False)
                service().checkpoints.copies._has_spare = True
    return socket.socket(fileno=os.dup(1104))


def lie(*words):
    """A process that answers in the place of the next checkpoint, when that is woken."""
    kept_link = spare()

    def run():
        while True:
            kept_link.recvmsg(16384, 1000)
            for word in words:
                kept_link.send(json.dumps({"pid": os.getpid()}).encode() if word is None else word)

    return left(run)


def announce(step, pid, times=1):
    """Tells init of checkpoints."""
    with link() as to_init:
        for _ in range(times):
            to_init.send(struct.pack("=II", step & 0xFFFFFFFF, pid & 0xFFFFFFFF))
            time.sleep(0.005)


def others():
    """Every process that is neither init nor this one."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if pid not in (1, os.getpid())]


def left(work, *arguments):
    """A process of its own session that goes on after the cell."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        try:
            work(*arguments)
        finally:
            os._exit(0)
    return pid


def high():
    """Lets descriptors be placed at the runner's numbers."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (1110, 1110))


def reached(number, *arguments):
    """Tells of a system call that must be refused."""
    gained = libc.syscall(number, *arguments) >= 0
    print("PWNED" if gained else ctypes.get_errno())


def attempt(work, *arguments):
    """Tells of a call that must fail."""
    try:
        print("PWNED", work(*arguments))
    except OSError as error:
        print(error.errno)


def page():
    """The address of the page that init and the heads share."""
    for line in open("/proc/self/maps"):
        if "memfd:cellar " in line and "rw-s" in line:
            return int(line.split("-")[0], 16)


def nonce():
    """What begins a mark in the output pipes."""
    return service().checkpoints.output._nonce


def mark(kind, order, step, argument):
    return nonce() + bytes([kind]) + struct.pack(">III", order, step, argument)


def forge_value(text, seconds=0.4):
    """Answers the host's next question for a variable with this JSON, before the runner can."""
    number = own_request() + 1
    body = frame(b'{"jsonrpc":"2.0","id":%d,"result":{"found":true,"value":%s}}' % (number, text))

    def run():
        end = time.time() + seconds
        while time.time() < end:
            send(body)
            time.sleep(0.001)

    left(run)
