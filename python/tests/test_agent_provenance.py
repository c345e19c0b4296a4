"""Where calls come from: results whose text or value a later call uses."""
import unittest

from agent_case import AgentCase

from cellar_runner.agent import provenance


class ProvenanceTest(AgentCase):
    def parents(self, work):
        """What the last call of this work was made from."""
        work()
        return self.calls()[-1]["parents"]

    def test_a_word_that_was_read(self):
        self.give("see ticket ABC-1234 today\nABC-1234 was closed by Pequod\nnothing else\n")
        self.peek(25)
        self.peek(5)
        self.assertEqual(self.parents(lambda: self.grep("ABC-1234")), ["P1"])
        self.assertEqual(self.parents(lambda: self.grep("(?i)pequod|x")), [])
        self.assertEqual(self.parents(lambda: self.grep("Pequod")), ["G1"])
        self.assertEqual(self.parents(lambda: self.grep("ABC-1234 was")), ["G3"])

    def test_the_call_before_is_no_parent_by_itself(self):
        self.give("one two three four\nfive six seven\n")
        self.peek(5)
        self.assertEqual(self.parents(lambda: self.grep("seven")), [])
        self.assertEqual(self.parents(lambda: self.peek(3)), [])
        self.assertEqual(self.parents(lambda: self.context_len()), [])

    def test_words_of_every_text_do_not_count(self):
        self.give("error: file not found\n")
        self.peek()
        for pattern in ("error", "file", "not", "found", "err"):
            self.assertEqual(self.parents(lambda: self.grep(pattern)), [])
        self.assertEqual(self.parents(lambda: self.grep("foun")), [])

    def test_files_of_a_listing(self):
        path = self.write("report-2024.txt", "Invoice: 5\n")
        self.list_dir()
        self.assertEqual(self.parents(lambda: self.peek(file=path)), ["D1"])
        self.assertEqual(self.parents(lambda: self.grep("Invoice", file=path)), ["P1", "D1"])

    def test_a_result_itself(self):
        self.give("alpha one\nbeta two\n" * 3)
        found = self.grep("alpha", context_lines=0)
        self.assertEqual(self.parents(lambda: self.llm_batch(found)), ["G1"])
        chunks = self.chunk_context(2, overlap=0)
        self.assertEqual(self.parents(lambda: self.llm_batch(chunks))[0], "X1")
        self.assertEqual(self.parents(lambda: self.llm_batch([chunks[0], *found])), ["X1", "G1"])
        self.assertEqual(self.parents(lambda: self.grep("beta two")), [])

    def test_a_passage_in_a_prompt(self):
        self.give("It was the best of times, it was the worst of times.\nIt was the age of wisdom.\n")
        text = self.peek(80)
        prompt = "Please tell me in one line what this says, and nothing else at all. " * 4
        self.assertEqual(self.parents(lambda: self.llm_call(prompt + text)), ["P1"])
        self.assertEqual(self.parents(lambda: self.llm_call(prompt)), [])
        found = self.grep("wisdom", context_lines=0)
        inside = prompt + "\n" + found[0] + "\n" + prompt
        self.assertIn("G1", self.parents(lambda: self.llm_call(inside)))

    def test_an_answer_that_is_used(self):
        self.give("Queequeg sails\n")
        answer = self.llm_call("who sails? Queequeg-2")
        self.assertEqual(answer, "Queequeg-2")
        self.assertEqual(self.parents(lambda: self.grep("sails")), [])
        self.asked.clear()
        self.agent._bridge["llm_query"] = lambda prompt, model=None: "the harpooner Tashtego"
        self.llm_call("who else?")
        self.assertEqual(self.parents(lambda: self.grep("Tashtego")), ["L2"])

    def test_there_are_bounds(self):
        kept = provenance.Provenance()
        for number in range(200):
            kept.remember("P{}".format(number), "marker{:04} ".format(number) * 3000, "")
        self.assertLessEqual(sum(len(text) for _, text, _, _ in kept.state()), provenance.ALL_CHARACTERS)
        self.assertEqual(kept.parents(["marker0199"]), ["P199"])
        self.assertEqual(kept.parents(["marker0000"]), [])
        endless = []
        endless.append(endless)
        deep = {"a": [{"b": endless}, "marker0199"] * 1000}
        self.assertEqual(kept.parents([endless, deep, 3, None, object(), "x" * 10_000_000]), ["P199"])
        many = " ".join("marker{:04}".format(number) for number in range(200))
        self.assertLessEqual(len(kept.parents([many])), provenance.MOST_PARENTS)


if __name__ == "__main__":
    unittest.main()
