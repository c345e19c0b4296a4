"""One line of a session's history: its head, its output and its parked checkpoints."""

import json
import os
import select
import socket

from . import family, parking
from .capture import Capture

READ_BYTES = 1 << 18


class Parked:
    """A checkpoint as init sees it."""

    def __init__(self, step, pid, link):
        self.step = step
        self.pid = pid
        self.link = link

    def await_pid(self, seconds):
        """The pid of the head it forked; earlier messages on the link are passed over."""
        poll = select.poll()
        poll.register(self.link, select.POLLIN)
        while poll.poll(seconds * 1000):
            data = self.link.recv(family.MAX_MESSAGE_BYTES)
            if not data:
                break
            answer = json.loads(data.decode())
            if "pid" in answer:
                return answer["pid"]
        return -1


class Branch:
    """`generation` counts the heads: each has its own pipes, link and channel."""

    def __init__(self, number, keep, host, count):
        self.number = number
        self.generation = 0
        self.pid = None
        self.killed = False
        self.starved = False
        self.parked = []
        self.capture = None
        self._keep = keep
        self._host = host
        self._count = count
        self._pipes = []
        self._link = None

    def open(self, pipes, link, nonce):
        self._pipes = pipes
        self._link = link
        self.capture = Capture(nonce, self._emit, self._settle)

    def close(self):
        for descriptor in self._pipes:
            os.close(descriptor)
        self._pipes = []
        if self._link is not None:
            self._link.close()
            self._link = None

    def inputs(self):
        """(descriptor, what to do when it is readable)."""
        if self._link is not None:
            yield self._link.fileno(), self._accept_parked
        for which, descriptor in enumerate(self._pipes):
            if self.capture.wants(which):
                yield descriptor, lambda which=which: self._read(which)
        for parked in self.parked:
            yield parked.link.fileno(), lambda parked=parked: self._hear(parked)

    def _read(self, which):
        try:
            data = os.read(self._pipes[which], READ_BYTES)
        except (BlockingIOError, IndexError):
            return 0
        if data:
            self.capture.feed(which, data)
        return len(data)

    def read_rest(self):
        """Everything still in the pipes of a dead head, bounded by what a pipe holds."""
        for which in range(len(self._pipes)):
            for _ in range(64):
                if not self._read(which):
                    break

    def _accept_parked(self):
        try:
            data, descriptors = family.receive_with_descriptors(self._link)
        except BlockingIOError:
            return
        if len(data) != parking.PARKED.size or len(descriptors) != 1:
            for descriptor in descriptors:
                os.close(descriptor)
            if not data:
                self._link.close()
                self._link = None
            return
        step, pid = parking.PARKED.unpack(data)
        self.parked.append(Parked(step, pid, socket.socket(fileno=descriptors[0])))
        while len(self.parked) > self._keep:
            self.forget(self.parked[0])

    def expect_parked(self, milliseconds):
        """Waits a moment for the word of a checkpoint that is being made."""
        if self._link is not None:
            poll = select.poll()
            poll.register(self._link, select.POLLIN)
            if poll.poll(milliseconds):
                self._accept_parked()

    def _hear(self, parked):
        """The first word of a checkpoint says what it had to let go; its end says it is dead."""
        try:
            data = parked.link.recv(family.MAX_MESSAGE_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.forget(parked)
            return
        try:
            lost = [str(item)[:200] for item in json.loads(data.decode())["lost"]][:64]
        except (ValueError, KeyError, TypeError):
            return
        params = {"branch": self.number, "step": parked.step, "lost": lost}
        self._host.notify("parked", params)

    def forget(self, parked):
        """Closing the link is what ends a parked copy."""
        if parked in self.parked:
            self.parked.remove(parked)
            parked.link.close()

    def forget_pid(self, pid):
        for parked in list(self.parked):
            if parked.pid == pid:
                self.forget(parked)

    def forget_after(self, step):
        for parked in list(self.parked):
            if parked.step > step:
                self.forget(parked)

    def forget_all(self):
        for parked in list(self.parked):
            self.forget(parked)

    def find(self, step):
        for parked in self.parked:
            if parked.step == step:
                return parked
        return None

    def known(self):
        return {0, *(parked.step for parked in self.parked)}

    def alive(self):
        return [parked for parked in self.parked if os.path.exists("/proc/%d" % parked.pid)]

    def signal(self, number):
        if self.pid is not None:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass

    def _emit(self, step, stream, text, order):
        self._host.notify(
            "output",
            {
                "branch": self.number,
                "generation": self.generation,
                "step": step,
                "stream": stream,
                "text": text,
                "seq": order,
            },
        )

    def _settle(self, step, order, omitted):
        self._host.notify(
            "settled",
            {
                "branch": self.number,
                "generation": self.generation,
                "step": step,
                "seq": order,
                "omitted": omitted,
                "processes": self._count(),
            },
        )
