"""Output: attribution to cells, order between streams, bounds, and damage by hostile writers."""

import os
import random
import unittest
from unittest import mock

from cellar_runner.output import marks
from cellar_runner.output.capture import BARRIER_SECONDS, PARTIAL_LINE_SECONDS, Capture, Window
from cellar_runner.output.streams import CellStream, OutputPipes

NONCE = bytes(range(100, 116))


class Recorder:
    def __init__(self):
        self.events = []
        self.ends = []
        self.capture = Capture(NONCE, self._emit, self._settle)

    def _emit(self, step, stream, text, order):
        self.events.append((step, stream, text))

    def _settle(self, step, order, omitted):
        self.ends.append((step, omitted))

    def text(self, step, stream):
        return "".join(t for s, name, t in self.events if s == step and name == stream)


def mark(kind, order, step=0, argument=0):
    return marks.encode(NONCE, kind, order, step, argument)


class WindowTest(unittest.TestCase):
    def test_short_text_passes_whole(self):
        window = Window(10)
        sent = window.add("abcdef") + window.finish()
        self.assertEqual((sent, window.omitted), ("abcdef", 0))

    def test_long_text_keeps_head_and_tail(self):
        window = Window(10)
        sent = "".join(window.add(c * 10) for c in "abcdefgh") + window.finish()
        self.assertTrue(sent.startswith("aaaaa\n... [70 bytes omitted] ...\n"))
        self.assertTrue(sent.endswith("hhhhh"))

    def test_every_cut_of_a_text_gives_the_same(self):
        text = "".join(chr(97 + i % 26) for i in range(200))
        whole = None
        for size in (1, 3, 7, 50, 200):
            window = Window(40)
            sent = "".join(window.add(text[i : i + size]) for i in range(0, 200, size))
            sent += window.finish()
            whole = whole or sent
            self.assertEqual(sent, whole)

    def test_the_tail_does_not_begin_inside_a_character(self):
        window = Window(8)
        window.add("abcd")
        window.keep("€€€€".encode())
        self.assertNotIn("\ufffd", window.finish())

    def test_both_ends_are_counted_in_characters(self):
        for character in ("a", "é", "€", "😀"):
            text = character * 100 + "\n"
            for size in (1, 7, 101):
                window = Window(10)
                sent = "".join(window.add(text[i : i + size]) for i in range(0, 101, size))
                head, notice, tail = (sent + window.finish()).split("\n", 2)
                self.assertEqual((head, tail), (character * 5, character * 4 + "\n"))
                self.assertEqual(window.omitted, 91 * len(character.encode()))
                self.assertEqual(notice, "... [%d bytes omitted] ..." % window.omitted)

    def test_nothing_is_left_out_of_as_many_characters_as_are_kept(self):
        window = Window(10)
        self.assertEqual((window.add("😀" * 10) + window.finish(), window.omitted), ("😀" * 10, 0))

    def test_bytes_that_are_no_text_are_bounded_and_counted(self):
        window = Window(10)
        window.add("abcde")
        for _ in range(1000):
            window.keep(b"\x80" * 100)
        self.assertLessEqual(window._tail_bytes, 200)
        tail = window.finish().rsplit("\n", 1)[1]
        self.assertEqual(tail.strip("\ufffd"), "")
        self.assertEqual(window.omitted + len(tail), 100_000)

    def test_no_room_at_all(self):
        window = Window(0)
        self.assertEqual(window.add("abc"), "")
        window.finish()
        self.assertEqual(window.omitted, 3)


class CaptureTest(unittest.TestCase):
    def test_a_character_between_the_head_and_the_tail_stays_whole(self):
        recorder = Recorder()
        begin, end = mark(marks.BEGIN, 1, 7, 10), mark(marks.END, 2, 7)
        recorder.capture.feed(1, begin + end)
        recorder.capture.feed(0, begin + b"abcd\n\xc3")
        recorder.capture.feed(0, b"\xa9xy" + end)
        self.assertEqual(recorder.text(7, "stdout"), "abcd\néxy")

    def test_a_cell(self):
        recorder = Recorder()
        begin, end = mark(marks.BEGIN, 1, 7, 100), mark(marks.END, 2, 7)
        recorder.capture.feed(0, b"early\n" + begin + b"out\n" + end + b"late\n")
        recorder.capture.feed(1, begin + b"err\n" + end)
        self.assertEqual(recorder.text(7, "stdout"), "out\n")
        self.assertEqual(recorder.text(7, "stderr"), "err\n")
        self.assertEqual(recorder.text(None, "stdout"), "early\nlate\n")
        self.assertEqual(recorder.ends, [(7, {"stdout": 0, "stderr": 0})])

    def test_any_split_of_the_bytes_gives_the_same_text(self):
        begin, end = mark(marks.BEGIN, 1, 3, 1000), mark(marks.END, 3, 3)
        sync = mark(marks.SYNC, 2)
        out = begin + "a€😀\n".encode() + sync + b"tail" + end
        err = begin + sync + b"err\n" + end
        for seed in range(200):
            rng = random.Random(seed)
            recorder = Recorder()
            rest = [out, err]
            while rest[0] or rest[1]:
                which = rng.randrange(2) if rest[0] and rest[1] else int(not rest[0])
                size = rng.randrange(1, 9)
                piece, rest[which] = rest[which][:size], rest[which][size:]
                recorder.capture.feed(which, piece)
            self.assertEqual(recorder.text(3, "stdout"), "a€😀\ntail", seed)
            self.assertEqual(recorder.text(3, "stderr"), "err\n", seed)
            order = [text for _, _, text in recorder.events]
            self.assertLess(order.index("a€😀\n"), order.index("err\n"), seed)

    def test_a_partial_line_waits_and_is_then_sent(self):
        recorder = Recorder()
        recorder.capture.feed(0, b"half")
        self.assertEqual(recorder.events, [])
        due = recorder.capture.next_deadline()
        recorder.capture.tick(due + PARTIAL_LINE_SECONDS)
        self.assertEqual(recorder.text(None, "stdout"), "half")

    def test_what_is_added_to_a_partial_line_does_not_hold_it_back(self):
        recorder = Recorder()
        recorder.capture.feed(0, b".")
        due = recorder.capture.next_deadline()
        recorder.capture.feed(0, b".")
        self.assertEqual(recorder.capture.next_deadline(), due)
        recorder.capture.feed(0, b"\n.")
        self.assertGreater(recorder.capture.next_deadline(), due)

    def test_a_redrawn_line_is_sent_at_once(self):
        recorder = Recorder()
        recorder.capture.feed(0, b"10%\r20%")
        self.assertEqual(recorder.text(None, "stdout"), "10%\r")

    def test_a_barrier_that_one_stream_never_reaches_is_given_up(self):
        recorder = Recorder()
        recorder.capture.feed(0, mark(marks.BEGIN, 1, 5, 100) + b"x\n" + mark(marks.END, 2, 5))
        self.assertEqual(recorder.ends, [])
        for _ in range(3):
            due = recorder.capture.next_deadline()
            if due is not None:
                recorder.capture.tick(due + BARRIER_SECONDS)
        self.assertEqual(recorder.text(5, "stdout"), "x\n")
        self.assertEqual([step for step, _ in recorder.ends], [5])

    def test_a_stream_is_waited_for_while_it_still_comes(self):
        recorder = Recorder()
        end = mark(marks.END, 2, 1)
        for which in (0, 1):
            recorder.capture.feed(which, mark(marks.BEGIN, 1, 1, 1000))
        recorder.capture.feed(1, end)
        met = recorder.capture._streams[1].stalled_since
        for late in range(1, 4):
            with mock.patch("time.monotonic", return_value=met + late * 0.8 * BARRIER_SECONDS):
                recorder.capture.feed(0, b"more\n")
                recorder.capture.tick(met + (late * 0.8 + 0.9) * BARRIER_SECONDS)
        self.assertEqual(recorder.ends, [])
        recorder.capture.feed(0, b"last\n" + end)
        self.assertEqual([step for step, _ in recorder.ends], [1])
        self.assertEqual(recorder.text(1, "stdout"), "more\n" * 3 + "last\n")

    def test_a_stream_that_never_ends_is_not_waited_for_forever(self):
        recorder = Recorder()
        for which in (0, 1):
            recorder.capture.feed(which, mark(marks.BEGIN, 1, 1, 1000))
        recorder.capture.feed(1, mark(marks.END, 2, 1))
        met = recorder.capture._streams[1].stalled_since
        with mock.patch("time.monotonic", return_value=met + 60):
            recorder.capture.feed(0, b"more\n")
            recorder.capture.tick(met + 60)
        self.assertEqual([step for step, _ in recorder.ends], [1])

    def test_what_a_pipe_still_holds_is_waited_for_however_long_nobody_reads_it(self):
        recorder = Recorder()
        begin, end = mark(marks.BEGIN, 1, 1, 1000), mark(marks.END, 2, 1)
        for which in (0, 1):
            recorder.capture.feed(which, begin)
        recorder.capture.feed(1, end)
        met = recorder.capture._streams[1].stalled_since
        asked = []
        recorder.capture.tick(met + 60, lambda which: asked.append(which) or True)
        self.assertEqual((recorder.ends, asked), ([], [0]))
        recorder.capture.feed(0, b"late\n" + end)
        self.assertEqual([step for step, _ in recorder.ends], [1])
        self.assertEqual(recorder.text(1, "stdout"), "late\n")

    def test_a_pipe_that_somebody_floods_is_not_waited_for_beyond_what_it_can_hold(self):
        recorder = Recorder()
        for which in (0, 1):
            recorder.capture.feed(which, mark(marks.BEGIN, 1, 1, 1000))
        recorder.capture.feed(1, mark(marks.END, 2, 1))
        for _ in range(5):
            recorder.capture.feed(0, b"x" * (1 << 19))
        recorder.capture.tick(recorder.capture._streams[1].met_at + 60, lambda which: True)
        self.assertEqual([step for step, _ in recorder.ends], [1])

    def test_output_of_older_threads_is_told_apart(self):
        recorder = Recorder()
        begin, end = mark(marks.BEGIN, 1, 4, 100), mark(marks.END, 2, 4)
        aside, back = mark(marks.ASIDE, 1), mark(marks.RETURN, 1)
        recorder.capture.feed(0, begin + b"own\n" + aside + b"late\n" + back + b"own2\n" + end)
        recorder.capture.feed(1, begin + end)
        self.assertEqual(recorder.text(4, "stdout"), "own\nown2\n")
        self.assertEqual(recorder.text(None, "stdout"), "late\n")

    def test_the_end_of_the_writer_flushes_everything(self):
        recorder = Recorder()
        recorder.capture.feed(0, mark(marks.BEGIN, 1, 9, 100) + b"cut off")
        recorder.capture.feed(1, mark(marks.BEGIN, 1, 9, 100) + b"\xe2\x82")
        self.assertEqual(recorder.capture.finish(), 9)
        self.assertEqual(recorder.text(9, "stdout"), "cut off")
        self.assertEqual(recorder.text(9, "stderr"), "\ufffd")

    def test_memory_is_bounded_while_one_stream_waits(self):
        recorder = Recorder()
        recorder.capture.feed(0, mark(marks.SYNC, 1) + b"x" * (1 << 19))
        self.assertFalse(recorder.capture.wants(0))
        self.assertTrue(recorder.capture.wants(1))

    def test_forged_and_broken_marks_never_raise(self):
        for seed in range(300):
            rng = random.Random(seed)
            recorder = Recorder()
            for _ in range(20):
                parts = [
                    rng.choice([NONCE, NONCE[:5], b"text\n", bytes([rng.randrange(256)])]),
                    marks.encode(NONCE, rng.randrange(8), rng.randrange(5), rng.randrange(3), 10),
                    bytes(rng.randrange(256) for _ in range(rng.randrange(20))),
                ]
                recorder.capture.feed(rng.randrange(2), b"".join(parts))
                recorder.capture.tick(rng.random() * 1e9)
            recorder.capture.finish()


class StreamTest(unittest.TestCase):
    def test_streams_write_in_one_order(self):
        out, err = os.pipe(), os.pipe()
        pipes = OutputPipes((out[1], err[1]), NONCE)
        stdout, stderr = CellStream(pipes, 0), CellStream(pipes, 1)
        pipes.begin(frozenset())
        pipes.begin_cell(1, 1000)
        stdout.write("a\n")
        stderr.write("b\n")
        stdout.buffer.write(b"c\n")
        stdout.write("\ud800")
        pipes.end_cell(1)
        recorder = Recorder()
        recorder.capture.feed(1, os.read(err[0], 65536))
        recorder.capture.feed(0, os.read(out[0], 65536))
        for descriptor in out + err:
            os.close(descriptor)
        texts = [(stream, text) for _, stream, text in recorder.events]
        self.assertEqual(
            texts,
            [("stdout", "a\n"), ("stderr", "b\n"), ("stdout", "c\n"), ("stdout", "\\ud800")],
        )

    def test_a_closed_pipe_loses_output_but_raises_nothing(self):
        reader, writer = os.pipe()
        os.close(reader)
        os.close(writer)
        stream = CellStream(OutputPipes((writer, writer), NONCE), 0)
        self.assertEqual(stream.write("lost\n"), 5)
        stream.close()
        self.assertEqual(stream.write("lost\n"), 5)

    def test_only_text_is_accepted(self):
        stream = CellStream(OutputPipes((1, 2), NONCE), 0)
        with self.assertRaises(TypeError):
            stream.write(b"bytes")


if __name__ == "__main__":
    unittest.main()
