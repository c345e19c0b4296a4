"""A plain session and its keeper, as the host meets them."""
import os
import signal
import subprocess
import sys
import unittest

from cellar_runner.protocol.channel import Channel, SharedChannel

PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SUBREAPER = os.path.join(PYTHON, "cellar_runner", "bootstrap", "subreaper.py")
BOOT = "import sys; sys.path.insert(0, %r); from cellar_runner.session.plain import main; main()" % PYTHON
LIMITS = {
    "memory_mb": 512,
    "processes": 64,
    "workspace_mb": 16,
    "tmp_mb": 16,
    "file_mb": 1,
    "open_files": 64,
}
FOREIGN = ("fcntl", "resource", "mmap", "termios", "pwd", "grp")


class ImportTest(unittest.TestCase):
    def test_needs_no_module_that_only_some_systems_have(self):
        code = (
            "import sys\n"
            "for name in %r: sys.modules[name] = None\n"
            "sys.path.insert(0, %r)\n"
            "import cellar_runner.session.plain\n"
            "ours = [name for name in sys.modules if name.startswith('cellar_runner.')]\n"
            "print(*ours)\n" % (FOREIGN, PYTHON)
        )
        command = [sys.executable, "-I", "-c", code]
        loaded = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode().split()
        self.assertIn("cellar_runner.session.service", loaded)
        linux_only = ("linux.syscalls", "linux.fds", "linux.jail", "linux.fork_memory")
        linux_only += ("session.checkpoint.copies", "session.head", "session.init")
        self.assertEqual({"cellar_runner." + name for name in linux_only} & {*loaded}, set())


class ChannelTest(unittest.TestCase):
    def test_what_is_sent_within_a_message_follows_it(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        channel = SharedChannel(reader, writer)
        parent = Channel._write_all

        def interrupted(self, data):
            if b"outer" in data:
                channel.notify("inner", {})
            parent(self, data)

        Channel._write_all = interrupted
        try:
            channel.notify("outer", {})
        finally:
            Channel._write_all = parent
        self.assertEqual([channel.receive()["method"] for _ in range(2)], ["outer", "inner"])


@unittest.skipUnless(hasattr(os, "posix_spawn"), "the keeper needs process groups")
class KeptSessionTest(unittest.TestCase):
    def start(self, command):
        """Starts a keeper as the host does; gives the process and the host's end of the lifeline."""
        lifeline, end = os.pipe()

        def hand_over():
            os.dup2(lifeline, 3)

        process = subprocess.Popen(
            [sys.executable, "-I", "-S", SUBREAPER] + command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[3],
            preexec_fn=hand_over,
        )
        os.close(lifeline)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, end

    def open_session(self):
        process, end = self.start([sys.executable, "-I", "-c", BOOT])
        channel = Channel(process.stdout.fileno(), process.stdin.fileno())
        channel.notify("plain_boot", {"session": "s", "token": "t", "limits": LIMITS})
        self.hello = channel.receive()["params"]
        self.addCleanup(os.close, end)
        return process, channel

    def run_cell(self, channel, step, code):
        """The result of a cell, and the text it printed."""
        params = {"step": step, "number": step, "code": code, "max_output": 1000}
        request = {"id": step, "method": "execute", "params": dict(params, checkpoint="always")}
        channel.send(dict(request, jsonrpc="2.0"))
        printed = ""
        while True:
            message = channel.receive()
            if message is None:
                return None, printed
            if message.get("method") == "output":
                printed += message["params"]["text"]
            if message.get("id") == step:
                return message["result"], printed

    def test_says_hello_and_runs_cells(self):
        _, channel = self.open_session()
        self.assertEqual(self.hello["role"], "plain")
        self.assertEqual(self.hello["token"], "t")
        self.assertIn("limits", self.hello["abilities"])
        self.assertNotIn("checkpoints", self.hello["abilities"])
        result, printed = self.run_cell(channel, 1, "x = 20\nprint('seen')\nx + 1")
        self.assertEqual((result["status"], printed), ("ok", "seen\n"))
        self.assertEqual(result["result"], {"text/plain": "21"})
        plan = {"planned": False, "reason": "no checkpoints: plain process"}
        self.assertEqual(result["checkpoint"], plan)

    def test_programs_inherit_no_descriptor_of_the_runner(self):
        _, channel = self.open_session()
        code = "import subprocess\n!ls /dev/fd | sort -n | tail -1"
        _, printed = self.run_cell(channel, 1, code)
        self.assertLess(int(printed), 10)

    def test_user_code_meets_only_the_main_thread(self):
        _, channel = self.open_session()
        result, _ = self.run_cell(channel, 1, "import threading; len(threading.enumerate())")
        self.assertEqual(result["result"], {"text/plain": "1"})

    def test_an_interrupt_ends_a_sleep_and_names_its_step(self):
        _, channel = self.open_session()
        interrupt = {"branch": 0, "step": 2}
        channel.notify("interrupt", interrupt)
        result, _ = self.run_cell(channel, 1, "import time; time.sleep(0.05); 5")
        self.assertEqual(result["result"], {"text/plain": "5"})
        result, _ = self.run_cell(channel, 2, "time.sleep(100)")
        self.assertEqual(result["status"], "interrupted")

    def test_leaves_when_the_link_ends(self):
        process, _ = self.open_session()
        process.stdin.close()
        self.assertEqual(process.wait(), 0)

    def test_the_keeper_ends_as_the_runner_did(self):
        process, channel = self.open_session()
        result, printed = self.run_cell(channel, 1, "print('last')\nimport os; os.abort()")
        self.assertEqual((result, printed), (None, "last\n"))
        self.assertEqual(process.wait(), -signal.SIGABRT)
        process, end = self.start([sys.executable, "-c", "raise SystemExit(3)"])
        self.addCleanup(os.close, end)
        self.assertEqual(process.wait(), 3)

    def test_the_end_of_the_lifeline_ends_everything(self):
        code = (
            "import signal, subprocess, sys, time\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "wait = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
            "one = subprocess.Popen(wait)\n"
            "two = subprocess.Popen(wait, start_new_session=sys.platform == 'linux')\n"
            "print(one.pid, two.pid, flush=True)\n"
            "time.sleep(600)\n"
        )
        process, end = self.start([sys.executable, "-c", code])
        pids = [int(pid) for pid in process.stdout.readline().split()]
        os.close(end)
        self.assertEqual(process.wait(), -signal.SIGKILL)
        for pid in pids:
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)


if __name__ == "__main__":
    unittest.main()
