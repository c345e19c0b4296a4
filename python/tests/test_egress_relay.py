import os
import socket
import tempfile
import unittest

from cellar_runner.session import egress_relay

TURNS = 2000


@unittest.skipUnless(hasattr(os, "O_PATH"), "sessions with a relay need Linux")
class ProxyRelayTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "proxy")
        self.proxy = self.listening(socket.AF_UNIX, self.path)
        self.port = self.listening(socket.AF_INET, ("127.0.0.1", 0))
        # As in a session: the relay has the socket's descriptor only.
        self.egress = os.open(self.path, os.O_PATH)
        self.addCleanup(os.close, self.egress)
        self.relay = egress_relay.ProxyRelay(self.port, "/proc/self/fd/%d" % self.egress)
        self.addCleanup(self.end_flows)

    def end_flows(self):
        for flow in self.relay._flows:
            flow._end()

    def listening(self, family, address):
        listener = socket.socket(family)
        self.addCleanup(listener.close)
        listener.bind(address)
        listener.listen(128)
        return listener

    def dial(self):
        client = socket.create_connection(self.port.getsockname())
        self.addCleanup(client.close)
        client.setblocking(False)
        return client

    def answer(self):
        self.proxy.setblocking(False)
        partner = self.until(lambda: self.proxy.accept()[0])
        self.addCleanup(partner.close)
        partner.setblocking(False)
        return partner

    def until(self, attempt):
        """What the attempt gives once it does not have to wait any more."""
        for _ in range(TURNS):
            try:
                return attempt()
            except BlockingIOError:
                self.relay.turn(0.01)
        self.fail("it never came")

    def read(self, connection, size):
        data = b""
        while len(data) < size:
            data += self.until(lambda: connection.recv(size - len(data))) or self.fail("it ended")
        return data

    def test_carries_both_ways(self):
        client = self.dial()
        partner = self.answer()
        client.send(b"question")
        self.assertEqual(self.read(partner, 8), b"question")
        partner.send(b"answer")
        self.assertEqual(self.read(client, 6), b"answer")

    def test_passes_on_the_end_of_one_side_only(self):
        client = self.dial()
        partner = self.answer()
        client.send(b"all")
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(self.read(partner, 3), b"all")
        self.assertEqual(self.until(lambda: partner.recv(1)), b"")
        partner.send(b"still here")
        self.assertEqual(self.read(client, 10), b"still here")
        partner.close()
        self.assertEqual(self.until(lambda: client.recv(1)), b"")
        self.assertEqual(len(self.relay._flows), 0)

    def test_a_broken_side_ends_the_other(self):
        client = self.dial()
        partner = self.answer()
        partner.close()
        self.assertEqual(self.until(lambda: client.recv(1)), b"")

    def test_nothing_piles_up_for_one_that_does_not_read(self):
        client = self.dial()
        partner = self.answer()
        sent, idle = 0, 0
        for _ in range(TURNS):
            try:
                sent += client.send(bytes(1 << 16))
                idle = 0
            except BlockingIOError:
                idle += 1
            if idle == 20:
                break
            self.relay.turn(0.001)
        flow = self.relay._flows[0]
        self.assertLessEqual(max(map(len, flow._outgoing.values())), egress_relay.BUFFER_BYTES)
        self.assertEqual(len(self.read(partner, sent)), sent)

    def test_takes_no_more_than_it_can_carry(self):
        clients = [self.dial() for _ in range(egress_relay.MOST_PAIRS + 3)]
        partners = [self.answer() for _ in range(egress_relay.MOST_PAIRS)]
        for _ in range(20):
            self.relay.turn(0.001)
        self.assertEqual(len(self.relay._flows), egress_relay.MOST_PAIRS)
        partners[0].close()
        clients[0].close()
        self.answer()
        self.assertEqual(len(self.relay._flows), egress_relay.MOST_PAIRS)

    def test_without_a_proxy_the_client_is_not_left_waiting(self):
        self.proxy.close()
        client = self.dial()
        self.assertEqual(self.until(lambda: client.recv(1)), b"")
        self.assertEqual(len(self.relay._flows), 0)


if __name__ == "__main__":
    unittest.main()
