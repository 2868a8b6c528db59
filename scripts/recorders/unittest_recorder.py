"""`python -m unittest` that also writes {test id: passed, failed or skipped} to the file that EXAMPLE_RESULTS names.

Used to find the truth about the example tasks without any code of the product.
"""

from __future__ import annotations

import json
import os
import sys
import unittest
from pathlib import Path
from typing import Any


class Recorder(unittest.TextTestResult):
    """Remembers each test by its id; a test with a failed subtest has failed."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.seen: dict[str, str] = {}

    def addSuccess(self, test: unittest.TestCase) -> None:
        super().addSuccess(test)
        self.seen.setdefault(test.id(), "passed")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self.seen[test.id()] = "failed"

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self.seen[test.id()] = "failed"

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self.seen.setdefault(test.id(), "skipped")

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.seen[test.id()] = "failed"

    def stopTestRun(self) -> None:
        super().stopTestRun()
        Path(os.environ["EXAMPLE_RESULTS"]).write_text(json.dumps(self.seen), encoding="utf-8")


if __name__ == "__main__":
    sys.path[0] = str(Path.cwd())
    unittest.main(module=None, testRunner=unittest.TextTestRunner(resultclass=Recorder))
