"""What every process that runs cells does with requests and interrupts."""
import signal
import threading
import unittest

from cellar_runner.protocol import channel
from cellar_runner.session.interrupts import Interrupts
from cellar_runner.session.service import Service


class Recorder(channel.Channel):
    """A channel that keeps what is sent; `during` happens in the middle of a notification."""

    def __init__(self):
        self.sent = []
        self.during = None

    def answer(self, identifier, result):
        self.sent.append((identifier, result))

    def refuse(self, identifier, code, _text):
        self.sent.append((identifier, code))

    def notify(self, method, _params, _attachments=()):
        if self.during is not None:
            self.during()
        self.sent.append(method)


class Pipes:
    """Output that goes nowhere."""

    def sync(self):
        return 1


class Small(Service):
    """A service whose interrupts are posted by the test, and which notes what follows an answer."""

    def __init__(self):
        super().__init__(Interrupts(lambda: self.posted), self)
        self.posted = 0
        self.after = []
        self._channel = Recorder()
        self._pipes = Pipes()
        self._methods = {"work": lambda _self, params: params["do"]()}

    @property
    def sent(self):
        return self._channel.sent

    def handle(self, method, do=dict, identifier=1):
        self._handle({"id": identifier, "method": method, "params": {"do": do}})

    def begin(self, step):
        self.interrupts.step = step
        self.interrupts.arm()

    def signal(self):
        self.interrupts.on_signal(2, None)

    def answered(self, params, result):
        self.after.append((list(self.sent), result))


def fail():
    raise ValueError("no")


class RequestTest(unittest.TestCase):
    def setUp(self):
        self.service = Small()

    def test_answers_and_then_tells_its_checkpoints(self):
        self.service.handle("work", lambda: {"done": True})
        self.assertEqual(self.service.sent, [(1, {"done": True})])
        self.assertEqual(self.service.after, [([(1, {"done": True})], {"done": True})])

    def test_refuses_what_it_does_not_know_and_what_fails(self):
        self.service.handle("unknown")
        self.service.handle("work", fail, identifier=2)
        expected = [(1, channel.METHOD_NOT_FOUND), (2, channel.INTERNAL_ERROR)]
        self.assertEqual(self.service.sent, expected)
        self.assertEqual(self.service.after, [])

    def test_notifications_get_no_answer(self):
        self.service.handle("work", fail, identifier=None)
        self.service.handle("unknown", identifier=None)
        self.assertEqual(self.service.sent, [])


class InterruptTest(unittest.TestCase):
    def setUp(self):
        self.service = Small()
        self.service.posted = 7

    def test_interrupts_only_the_step_it_names_and_only_inside_it(self):
        self.service.signal()
        self.service.begin(6)
        self.service.signal()
        self.service.interrupts.disarm()
        with self.assertRaises(KeyboardInterrupt):
            self.service.begin(7)
        with self.assertRaises(KeyboardInterrupt):
            self.service.signal()
        self.service.interrupts.disarm()
        self.service.signal()

    def test_waits_for_a_message_to_be_whole(self):
        self.service.posted = 0
        self.service.begin(7)

        def interrupt():
            self.service.posted = 7
            self.service.signal()

        self.service._channel.during = interrupt
        with self.assertRaises(KeyboardInterrupt):
            self.service._display({"text/plain": "x"}, {})
        self.assertEqual(self.service.sent, ["display"])

    def test_interrupts_once(self):
        self.service.posted = 0
        self.service.begin(7)
        self.service.posted = 7
        with self.assertRaises(KeyboardInterrupt):
            self.service.signal()
        self.service._display({"text/plain": "x"}, {})
        self.assertEqual(self.service.sent, ["display"])

    def test_a_message_of_another_thread_does_not_hold_it_up(self):
        self.service.posted = 0
        self.service.begin(7)
        self.service.posted = 7
        armed = []
        self.service._channel.during = lambda: armed.append(self.service.interrupts.armed)
        thread = threading.Thread(target=self.service._display, args=({"text/plain": "x"}, {}))
        thread.start()
        thread.join()
        self.assertEqual(armed, [True])


class OwnInterruptTest(unittest.TestCase):
    """A SIGINT that user code sends."""

    def setUp(self):
        self.service = Small()
        self.addCleanup(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
        self.service.interrupts.of_cell.close()
        self.service.interrupts.step = 7

    def send(self):
        signal.raise_signal(signal.SIGINT)

    def test_interrupts_user_code_and_nothing_else(self):
        self.send()
        self.service.interrupts.enter()
        with self.assertRaises(KeyboardInterrupt):
            self.send()
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        self.service.interrupts.leave()
        self.send()
        # What came between two cells is not the next one's.
        self.service.interrupts.enter()
        self.service.interrupts.leave()

    def test_waits_for_a_message_to_be_whole(self):
        self.service.interrupts.enter()
        self.service._channel.during = self.send
        with self.assertRaises(KeyboardInterrupt):
            self.service._display({"text/plain": "x"}, {})
        self.assertEqual(self.service.sent, ["display"])
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_a_handler_of_the_cell_is_called_once_and_stays_until_its_end(self):
        calls = []
        self.service.interrupts.enter()
        signal.signal(signal.SIGINT, lambda *_: calls.append(len(self.service.sent)))
        handler = signal.getsignal(signal.SIGINT)
        self.service._channel.during = self.send
        self.service._display({"text/plain": "x"}, {})
        self.assertEqual(calls, [1])
        self.assertIs(signal.getsignal(signal.SIGINT), handler)
        self.service.interrupts.leave()
        self.send()
        self.assertEqual(calls, [1])

    def test_reaches_a_cell_that_waits_for_the_host(self):
        self.service.interrupts.enter()

        def wait():
            self.send()
            self.service.interrupts.arm()
            self.service.interrupts.disarm()

        with self.assertRaises(KeyboardInterrupt):
            self.service.interrupts.postponed(wait)

    def test_a_cell_may_ignore_it(self):
        self.service.interrupts.enter()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.service._channel.during = self.send
        self.service._display({"text/plain": "x"}, {})
        self.assertEqual(signal.getsignal(signal.SIGINT), signal.SIG_IGN)
        self.service.interrupts.leave()


if __name__ == "__main__":
    unittest.main()
