"""Frames as the runner reads and writes them."""
import json
import os
import random
import socket
import threading
import unittest

from cellar_runner.protocol.channel import Broken, Channel
from cellar_runner.protocol.constants import MAX_FRAME_BYTES


def frame(body):
    """A frame around bytes."""
    return len(body).to_bytes(4, "big") + body


def message(number):
    """A small valid message."""
    return {"jsonrpc": "2.0", "method": "n\u00e9\U0001f600", "params": {"number": number}}


def encoded(number):
    """The frame of `message`, with UTF-8 rather than escapes."""
    return frame(json.dumps(message(number), ensure_ascii=False).encode("utf-8"))


class ChannelTest(unittest.TestCase):
    def setUp(self):
        near, self.far = socket.socketpair()
        self.near = near
        self.addCleanup(self.near.close)
        self.addCleanup(self.far.close)
        self.channel = Channel(near.fileno())

    def feed(self, data):
        """Send everything and end the stream; a thread, because the data may fill the socket."""

        def write():
            try:
                self.far.sendall(data)
                self.far.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        thread = threading.Thread(target=write)
        thread.start()
        self.addCleanup(thread.join)

    def receive_all(self):
        """Return every message up to the end of the stream."""
        found = []
        while True:
            received = self.channel.receive()
            if received is None:
                return found
            found.append(received)


class ReceiveTest(ChannelTest):
    def test_several_frames_in_one_chunk(self):
        self.far.sendall(encoded(1) + encoded(2) + encoded(3))
        self.assertEqual(self.channel.receive(), message(1))
        self.assertTrue(self.channel.has_input)
        self.assertEqual(self.channel.receive(), message(2))
        self.assertEqual(self.channel.receive(), message(3))
        self.assertFalse(self.channel.has_input)

    def test_a_stream_cut_at_every_byte(self):
        data = encoded(1) + encoded(2)
        for cut in range(len(data) + 1):
            parts = [data[:cut], data[cut:]]
            near, far = socket.socketpair()
            with near, far:
                channel = Channel(near.fileno())
                thread = threading.Thread(target=lambda: [far.sendall(part) for part in parts])
                thread.start()
                found = [channel.receive(), channel.receive()]
                thread.join()
            self.assertEqual(found, [message(1), message(2)])

    def test_one_byte_at_a_time(self):
        data = encoded(1) + encoded(2)
        sizes = []
        original = Channel.receive.__globals__["_read"]

        def read_one(descriptor, size):
            sizes.append(size)
            return original(descriptor, 1)

        Channel.receive.__globals__["_read"] = read_one
        try:
            self.feed(data)
            self.assertEqual(self.receive_all(), [message(1), message(2)])
        finally:
            Channel.receive.__globals__["_read"] = original
        self.assertGreaterEqual(len(sizes), len(data))

    def announcing(self, *sizes):
        params = {"attachments": [{"bytes": size} for size in sizes]}
        return frame(json.dumps({"id": 1, "method": "part", "params": params}).encode())

    def test_attachments_stand_where_they_were_announced(self):
        bodies = [b"\xff\0{}" * 40_000, b""]
        self.feed(self.announcing(160_000, 0) + frame(b"\0" + bodies[0]) + frame(b"\0") + encoded(2))
        self.assertEqual(self.channel.receive()["params"], {"attachments": bodies})
        self.assertEqual(self.channel.receive(), message(2))

    def test_attachments_that_are_not_what_was_announced(self):
        for rest in (encoded(2), frame(b"\0ab"), frame(b"\0abcd"), frame(b"abc")):
            near, far = socket.socketpair()
            with near, far:
                far.sendall(self.announcing(3) + rest)
                with self.assertRaises(Broken, msg=rest):
                    Channel(near.fileno()).receive()

    def test_a_stream_that_ends_before_an_attachment(self):
        self.feed(self.announcing(3))
        self.assertIsNone(self.channel.receive())

    def test_the_end_of_the_stream(self):
        self.feed(b"")
        self.assertIsNone(self.channel.receive())
        self.assertIsNone(self.channel.receive())

    def test_a_closed_descriptor_is_the_end(self):
        descriptor = os.dup(self.near.fileno())
        channel = Channel(descriptor)
        os.close(descriptor)
        self.assertIsNone(channel.receive())

    def test_a_stream_that_ends_inside_a_frame(self):
        self.feed(encoded(1)[:-1])
        with self.assertRaises(Broken):
            self.channel.receive()

    def test_lengths_are_judged_before_the_body(self):
        for length in (0, MAX_FRAME_BYTES + 1, 2**31, 2**32 - 1):
            near, far = socket.socketpair()
            with near, far:
                far.sendall(length.to_bytes(4, "big"))
                with self.assertRaises(Broken):
                    Channel(near.fileno()).receive()

    def test_a_frame_at_the_limit(self):
        room = MAX_FRAME_BYTES - len('{"a":""}')
        self.feed(frame(b'{"a":"' + b"x" * room + b'"}') + encoded(2))
        self.assertEqual(len(self.channel.receive()["a"]), room)
        self.assertEqual(self.channel.receive(), message(2))

    def test_junk_is_refused(self):
        deep = b"[" * 200000 + b"]" * 200000
        for body in (b"hello", b"\0binary", b"[]", b"1", b'"text"', b"null", b"\xff\xfe", b"{", deep):
            near, far = socket.socketpair()
            with near, far:
                thread = threading.Thread(target=far.sendall, args=(frame(body),))
                thread.start()
                with self.assertRaises(Broken, msg=body[:20]):
                    Channel(near.fileno()).receive()
                thread.join()

    def test_random_streams_give_messages_an_end_or_broken(self):
        seed = random.randrange(2**32)
        dice = random.Random(seed)
        outcomes = {"message": 0, "end": 0, "broken": 0}
        for _ in range(1000):
            data = bytearray(encoded(dice.randrange(99)) + encoded(2))
            for _ in range(dice.randrange(4)):
                data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            near, far = socket.socketpair()
            with near, far:
                far.sendall(data[: dice.randrange(len(data) * 2)])
                far.shutdown(socket.SHUT_WR)
                channel = Channel(near.fileno())
                try:
                    while channel.receive() is not None:
                        outcomes["message"] += 1
                    outcomes["end"] += 1
                except Broken:
                    outcomes["broken"] += 1
                except Exception as error:
                    self.fail("seed %d: %r" % (seed, error))
        self.assertTrue(all(outcomes.values()), (seed, outcomes))


class SendTest(ChannelTest):
    def sent(self):
        """Everything the channel wrote, as frames."""
        self.near.shutdown(socket.SHUT_WR)
        data = b""
        while True:
            chunk = self.far.recv(1 << 20)
            if not chunk:
                break
            data += chunk
        frames = []
        while data:
            size = int.from_bytes(data[:4], "big")
            self.assertLessEqual(4 + size, len(data))
            frames.append(data[4 : 4 + size])
            data = data[4 + size :]
        return frames

    def test_messages_fit_the_envelope(self):
        self.channel.notify("output", {"text": "\u00e9\ud800"})
        self.channel.answer(3, None)
        self.channel.refuse(4, -32601, "unknown")
        found = [json.loads(body.decode("ascii")) for body in self.sent()]
        expected = [
            {"jsonrpc": "2.0", "method": "output", "params": {"text": "\u00e9\ud800"}},
            {"jsonrpc": "2.0", "id": 3, "result": None},
            {"jsonrpc": "2.0", "id": 4, "error": {"code": -32601, "message": "unknown"}},
        ]
        self.assertEqual(found, expected)

    def test_attachments_follow_their_message(self):
        self.channel.notify("display", {}, [b"\0\x01", b""])
        frames = self.sent()
        self.assertEqual(json.loads(frames[0].decode())["method"], "display")
        self.assertEqual(frames[1:], [b"\0\0\x01", b"\0"])

    def test_what_is_too_large_or_no_json_is_not_sent(self):
        for params in ("x" * MAX_FRAME_BYTES, float("nan"), object()):
            with self.assertRaises((TypeError, ValueError)):
                self.channel.notify("output", params)
        with self.assertRaises(ValueError):
            self.channel.notify("display", {}, [b"x" * MAX_FRAME_BYTES])
        self.assertEqual(self.sent(), [])

    def test_a_large_message_arrives_whole(self):
        received = []
        reader = threading.Thread(target=lambda: received.append(Channel(self.far.fileno()).receive()))
        reader.start()
        self.channel.notify("output", {"text": "x" * 5_000_000})
        reader.join()
        self.assertEqual(len(received[0]["params"]["text"]), 5_000_000)


if __name__ == "__main__":
    unittest.main()
