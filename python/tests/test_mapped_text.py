"""The file under a large context, which programs can search where it is."""
import os
import resource
import unittest

from agent_case import RIPGREP

from cellar_runner.agent.agent import AgentTools
from cellar_runner.context import incoming
from cellar_runner.linux import fds

HAS_SHEETS = hasattr(os, "memfd_create")
LINE = "some line of a long text\n"


@unittest.skipUnless(HAS_SHEETS, "this system has no files without a name")
class ContextFileTest(unittest.TestCase):
    def setUp(self):
        from cellar_runner.context import mapped_text

        self.module = mapped_text
        self.addCleanup(setattr, mapped_text, "SMALLEST", mapped_text.SMALLEST)
        mapped_text.SMALLEST = 33 << 20
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limits[1] != resource.RLIM_INFINITY and limits[1] <= fds.CONTEXT_FILE:
            self.skipTest("this process may not open so many files")
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        self.addCleanup(os.closerange, fds.CONTEXT_FILE, fds.CONTEXT_FILE + 1)

    def mapped(self, text):
        """(the mapped text, its Backing)."""
        data = text.encode("utf-8")
        mapped_texts = self.module.MappedTexts()
        made = incoming.Incoming("utf-8", len(data), mapped_texts)
        for start in range(0, len(data), 99_991):
            made.feed(data[start : start + 99_991])
        value = made.finish()
        backing = mapped_texts.keep_file(value)
        if backing is None and text.isascii() and len(data) >= self.module.SMALLEST:
            self.skipTest("strings cannot be mapped with this C library")
        return value, backing

    def open_context_files(self):
        names = os.listdir("/proc/self/fd")
        return sum(_target(name).startswith("/memfd:context") for name in names)

    def test_its_bytes_are_those_of_the_text(self):
        text = "first\n" + LINE * 1_600_000 + "last"
        value, backing = self.mapped(text)
        self.assertTrue(value == text)
        descriptor = backing.descriptor_for(value)
        self.assertTrue(0 < backing.lead <= 4096)
        head = os.pread(descriptor, backing.lead + 6, 0)
        self.assertEqual((head[-7:], head.count(b"\n")), (b"\nfirst\n", 2))
        size = os.fstat(descriptor).st_size
        self.assertEqual(size, backing.lead + len(text))
        self.assertEqual(os.pread(descriptor, 9, size - 9), b"text\nlast")
        self.assertEqual(os.pread(descriptor, 50, backing.lead + 20_000_000).decode(), text[20_000_000:20_000_050])
        self.assertEqual(self.open_context_files(), 1)
        self.module.collapse()
        self.assertTrue(value == text)

    def test_nobody_can_write_there(self):
        _value, _backing = self.mapped(LINE * 1_600_000)
        for flags in (os.O_RDWR, os.O_RDONLY):
            descriptor = os.open("/proc/self/fd/{}".format(fds.CONTEXT_FILE), flags)
            for change in (lambda: os.pwrite(descriptor, b"x", 100), lambda: os.ftruncate(descriptor, 5)):
                with self.assertRaises(OSError):
                    change()
            os.close(descriptor)

    def test_it_is_for_one_text_alone(self):
        value, backing = self.mapped(LINE * 1_600_000)
        self.assertIsNone(backing.descriptor_for(value + "x"))
        self.assertIsNone(backing.descriptor_for(None))
        os.close(fds.CONTEXT_FILE)
        self.assertIsNone(backing.descriptor_for(value))
        os.dup2(os.open(os.devnull, os.O_RDONLY), fds.CONTEXT_FILE)
        self.assertIsNone(backing.descriptor_for(value))

    def test_texts_without_one(self):
        for text in ("short", LINE * 1_600_000 + "\u00e9", "\u65e5" + LINE * 1_600_000):
            self.assertIsNone(self.mapped(text)[1])
            self.assertEqual(self.open_context_files(), 0)

    @unittest.skipUnless(RIPGREP, "ripgrep is not installed")
    def test_it_is_searched(self):
        value, backing = self.mapped("first\n" + LINE * 1_600_000 + "the needle\nlast")

        def file(text):
            descriptor = backing.descriptor_for(text)
            return None if descriptor is None else (descriptor, backing.lead)

        tools = AgentTools(lambda: value, {"max_grep_results": 2, "slow_seconds": 300}, {}, None, file)
        grep = tools.functions()["grep"]
        for _ in ("with it", "without"):
            found = grep("needle", context_lines=1)
            self.assertEqual([(hit.line, hit.before, hit.after) for hit in found], [(1_600_002, [LINE[:-1]], ["last"])])
            self.assertEqual([hit.line for hit in grep("^first$|last")], [1, 1_600_003])
            self.assertEqual(grep("first")[0].before, [])
            found = grep("^")
            self.assertEqual((found.total, len(found), found[0].line), (1_600_003, 2, 1))
            self.assertEqual(grep(r"^\x00").total, 0)
            self.assertEqual(grep("needle(?!s)", context_lines=0), ["the needle"])
            os.closerange(fds.CONTEXT_FILE, fds.CONTEXT_FILE + 1)


def _target(name):
    try:
        return os.readlink("/proc/self/fd/" + name)
    except OSError:
        return ""


if __name__ == "__main__":
    unittest.main()
