"""Run the tests of this folder; the last line of stdout is their count as JSON."""
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class CountingResult(unittest.TextTestResult):
    """A text result that also counts what passed."""

    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.passed += 1

    def counts(self):
        """Return passed, failed and skipped in the form the test script sums up."""
        bad = len(self.failures) + len(self.errors) + len(self.unexpectedSuccesses)
        skipped = [{"name": test.id(), "reason": reason} for test, reason in self.skipped]
        return {"passed": self.passed, "failed": bad, "skipped": skipped}


def load(names):
    """Load the named tests, or all of them."""
    loader = unittest.TestLoader()
    if names:
        return loader.loadTestsFromNames(names)
    return loader.discover(HERE, top_level_dir=HERE)


def main(names):
    """Run and print; the exit code is 1 when a test failed or none was found."""
    for folder in (HERE, os.path.dirname(HERE)):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    runner = unittest.TextTestRunner(resultclass=CountingResult, verbosity=1)
    result = runner.run(load(names))
    counts = result.counts()
    sys.stdout.flush()
    print("\n" + json.dumps(counts))
    found = counts["passed"] + counts["failed"] + len(counts["skipped"])
    return 1 if counts["failed"] or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
