"""mpi4py's own test suite: `outcomes.py TESTS ARGUMENT...` is `TESTS/main.py ARGUMENT...`, and leaves the outcome of each
test in LOG_DIR, a file for each rank, because not every launcher keeps all that ranks print. A line is a JSON array:

    [test, outcome, reason or traceback]

A test has the outcome `begun` until it has another.
"""

import json
import os
import sys
import unittest


class Outcomes(unittest.TextTestResult):
    """Prints like its base, and writes each outcome at once: a rank may die in the next test."""

    file = None

    def note(self, test, outcome, detail=""):
        if Outcomes.file is None:
            # The suite has initialised MPI before its first test.
            from mpi4py import MPI

            name = f"{MPI.COMM_WORLD.Get_rank()}.outcomes"
            Outcomes.file = open(os.path.join(os.environ["LOG_DIR"], name), "w")
        Outcomes.file.write(json.dumps([test.id(), outcome, detail]) + "\n")
        Outcomes.file.flush()

    def startTest(self, test):
        super().startTest(test)
        self.note(test, "begun")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test, "ok")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped", reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, "failed", self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, "failed", self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note(subtest, "failed", str(err[1]))

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.note(test, "failed as expected")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(test, "failed", "unexpected success")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    tests = sys.argv.pop(1)
    sys.path.insert(0, tests)
    sys.argv[0] = os.path.join(tests, "main.py")
    unittest.TextTestRunner.resultclass = Outcomes
    import main

    main.main(module=None)
