"""Questions to the host: numbers, order, failures, and answers that nobody waits for."""
import asyncio
import json
import pickle
import unittest

from cellar_runner.cells.interactive import InputUnavailable
from cellar_runner.cells.magics.dispatch import MagicUnavailable
from cellar_runner.errors import PolicyViolation
from cellar_runner.host import bridge


class Host:
    """A service whose host answers by a function of the test."""

    def __init__(self, answer, can_wait=True):
        self.host_calls = bridge.HostCalls()
        self.pid = bridge._getpid()
        self.can_wait = can_wait
        self.asked = []
        self.open = []
        self.widest = 0
        self.given = True
        self._answer = answer

    def ask(self, number, name, content):
        if len(content) > 1000:
            raise ValueError("1001 bytes exceed the limit of a message")
        self.asked.append((name, json.loads(content)))
        self.open.append((number, json.loads(content)))
        self.widest = max(self.widest, len(self.open))

    def await_answers(self, are_there):
        while not are_there():
            self.reply()

    def reply(self, at=-1):
        number, content = self.open.pop(at)
        answer = self._answer(content)
        if isinstance(answer, Exception):
            message = {"id": number, "error": {"message": str(answer), "data": {"remedy": "rest"}}}
        else:
            message = {"id": number, "result": {"output": answer}}
        self.host_calls.settle(message)

    def given_step(self):
        return 3 if self.given else None

    def current_context(self):
        return {"own": True}


def echo(content):
    return content["prompt"].upper()


class PickleTest(unittest.TestCase):
    def test_what_the_runner_raises_can_be_pickled(self):
        bridge.publish(bridge.functions(Host(echo)))
        error = bridge.HostError("asleep")
        error.hint = "wake it"
        violation = {"line": 1, "column": 0, "message": "no", "rule": "call.eval", "hint": "do not"}
        for raised in (error, InputUnavailable("no"), MagicUnavailable("no"), PolicyViolation([violation])):
            copy = pickle.loads(pickle.dumps(raised))
            self.assertEqual((type(copy), copy.args, vars(copy)), (type(raised), raised.args, vars(raised)))
        self.assertIs(pickle.loads(pickle.dumps(bridge.HostError, 0)), bridge.HostError)


class WaitingTest(unittest.TestCase):
    def test_batches_keep_their_order_and_their_window(self):
        host = Host(echo)
        batched = bridge.functions(host)["llm_query_batched"]
        prompts = ["p%d" % number for number in range(1000)]
        self.assertEqual(batched(prompts), [prompt.upper() for prompt in prompts])
        self.assertEqual(host.widest, bridge.WINDOW)
        self.assertEqual(batched(iter(["x"])), ["X"])

    def test_arguments_of_the_wrong_kind_are_named(self):
        made = bridge.functions(Host(echo))
        for call in (
            lambda: made["llm_query"](["a"]),
            lambda: made["llm_query"]("a", model=3),
            lambda: made["llm_query_batched"]("abc"),
            lambda: made["llm_query_batched"](None),
            lambda: made["rlm_query_batched"](["a"], 5),
            lambda: made["llm_query_batched"]([1]),
            lambda: made["rlm_query"](None),
        ):
            with self.assertRaisesRegex(TypeError, "must be a str|takes a list of"):
                call()
        self.assertEqual(Host(echo).asked, [])

    def test_a_failure_carries_the_hosts_words_and_hint(self):
        query = bridge.functions(Host(lambda _content: ValueError("no")))["llm_query"]
        with self.assertRaises(bridge.HostError) as caught:
            query("x")
        self.assertEqual((str(caught.exception), caught.exception.hint), ("no", "rest"))

    def test_too_long_a_question_leaves_nothing_open(self):
        host = Host(echo)
        query = bridge.functions(host)["llm_query"]
        with self.assertRaises(bridge.HostError):
            query("x" * 2000)
        self.assertEqual(host.host_calls._answers, {})

    def test_an_interrupt_forgets_what_was_asked(self):
        host = Host(echo)

        def interrupt(_are_there):
            raise KeyboardInterrupt

        host.await_answers = interrupt
        with self.assertRaises(KeyboardInterrupt):
            bridge.functions(host)["llm_query_batched"](["a", "b"])
        self.assertEqual(host.host_calls._answers, {})
        host.host_calls.settle({"id": 1, "result": {"output": "late"}})
        self.assertEqual(host.host_calls._answers, {})

    def test_answers_are_plain_where_it_counts(self):
        answer = bridge.functions(Host(echo))["llm_query"]("x")
        self.assertIs(type(pickle.loads(pickle.dumps(answer))), str)
        self.assertIs(type(pickle.loads(pickle.dumps(bridge.Answers(["a"])))), list)
        self.assertEqual(json.dumps(answer), '"X"')

    def test_the_context_travels_only_when_it_is_another_one(self):
        host = Host(lambda content: json.dumps(content.get("context", content.get("given"))))
        query = bridge.functions(host)["rlm_query"]
        self.assertEqual(query("t"), "3")
        self.assertEqual(query("t", "mine"), '"mine"')
        self.assertEqual(query("t", 0), "0")
        host.given = False
        self.assertEqual(query("t"), '{"own": true}')

    def test_a_copy_of_the_process_is_refused(self):
        host = Host(echo)
        host.pid += 1
        with self.assertRaises(bridge.HostError):
            bridge.functions(host)["llm_query"]("x")


class AwaitedTest(unittest.TestCase):
    """Where nothing can wait: `await`, or an error that says so."""

    def setUp(self):
        self.host = Host(echo, can_wait=False)
        self.made = bridge.functions(self.host)

    def run_cell(self, cell):
        async def attended():
            running = asyncio.ensure_future(cell())
            while not running.done():
                await asyncio.sleep(0)
                if self.host.open:
                    self.host.reply(0)
            return running.result()

        return asyncio.run(attended())

    def test_awaited_calls_run_side_by_side(self):
        async def cell():
            query = self.made["llm_query"]
            return await asyncio.gather(query("a"), query("b")), await self.made["llm_query_batched"](["c"])

        self.assertEqual(self.run_cell(cell), (["A", "B"], ["C"]))
        self.assertEqual(self.host.host_calls._answers, {})

    def test_a_plain_call_says_what_to_write(self):
        with self.assertRaisesRegex(bridge.HostError, "await llm_query"):
            self.made["llm_query"]("a")

    def test_an_answer_that_was_not_awaited_cannot_pass_for_text(self):
        async def cell():
            pending = self.made["llm_query"]("a")
            for use in (str, len, repr, list, lambda it: it + "x", lambda it: it.upper(), "{}".format):
                with self.assertRaisesRegex(bridge.HostError, "await"):
                    use(pending)

        self.run_cell(cell)


if __name__ == "__main__":
    unittest.main()
