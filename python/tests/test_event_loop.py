"""Top-level await on one loop that lasts."""
import gc
import os
import unittest

from cell_case import CellCase

TICKER = (
    "import asyncio\nticks = 0\nasync def tick():\n    global ticks\n    while True:\n"
    "        ticks += 1\n        await asyncio.sleep(0)\n"
)


class EventLoopTest(CellCase):
    def test_await_gives_a_value(self):
        self.assertEqual(self.value("import asyncio\nawait asyncio.sleep(0, 'done')"), "'done'")

    def test_assignments_before_a_failed_await_stay(self):
        self.error("async def f(): raise ValueError\nx = 1\nawait f()", "ValueError")
        self.assertEqual(self.value("x"), "1")

    def test_background_tasks_live_on_between_cells(self):
        self.value(TICKER + "task = asyncio.create_task(tick())")
        self.value("await asyncio.sleep(0)\nbefore = ticks")
        self.value("for _ in range(5): await asyncio.sleep(0)")
        self.assertEqual(self.value("before < ticks and not task.done()"), "True")
        self.value("task.cancel()\nawait asyncio.sleep(0)")

    def test_an_exit_in_a_task_is_told_once(self):
        self.value("import asyncio, gc, logging\nasync def leave(): raise SystemExit(3)")
        self.value("told = []\nlogging.getLogger('asyncio').addFilter(told.append)")
        outcome = self.run_cell("await asyncio.gather(leave(), asyncio.sleep(0))")
        self.assertEqual(outcome["exit_code"], 3)
        self.assertEqual(self.value("gc.collect()\ntold"), "[]")

    def test_asyncio_run_works_without_await(self):
        self.value("import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    return 8")
        self.assertEqual(self.value("asyncio.run(main())"), "8")
        self.assertEqual(self.value("await main()"), "8")

    def test_asyncio_run_beside_await_gets_a_hint(self):
        self.value("import asyncio\nasync def main(): return 1")
        error = self.error("await main()\nc = main()\nasyncio.run(c)", "RuntimeError")
        self.assertIn("await", error["hint"])
        self.value("c.close()")

    def test_the_current_loop_is_the_session_s(self):
        code = "import asyncio\nloop = asyncio.get_event_loop()\nawait asyncio.sleep(0)"
        self.value(code)
        self.value("asyncio.run(asyncio.sleep(0))")
        self.assertEqual(self.value("asyncio.get_event_loop() is loop"), "True")
        self.value("loop.close()")
        self.assertEqual(self.value("await asyncio.sleep(0, 'again')"), "'again'")

    def test_context_variables_stay_set(self):
        self.value("import asyncio, contextvars\nv = contextvars.ContextVar('v')")
        self.value("v.set(5)\nawait asyncio.sleep(0)")
        self.assertEqual(self.value("v.get()"), "5")

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_copy_whose_descriptors_were_closed(self):
        self.value(TICKER + "task = asyncio.create_task(tick())\nawait asyncio.sleep(0)")
        self.value("await asyncio.get_running_loop().run_in_executor(None, int)")
        # loops of earlier tests would close their descriptors' numbers in the child
        gc.collect()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.closerange(3, 64)
                taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(3, 64)]
                self.interpreter.rebuild_event_loop()
                gc.collect()
                for descriptor in taken:
                    os.fstat(descriptor)
                outcome = self.run_cell(
                    "before = ticks\n"
                    "got = await asyncio.get_running_loop().run_in_executor(None, lambda: 7)\n"
                    "(got, ticks > before)"
                )
                code = 0 if outcome["result"] == {"text/plain": "(7, True)"} else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.value("task.cancel()\nawait asyncio.sleep(0)")


if __name__ == "__main__":
    unittest.main()
