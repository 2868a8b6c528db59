"""Ends the process with SIGKILL from inside the tested function.

Level: 1
Outcome: not resolved
Says: ended without a word, in tests/test_pkg.py::test_add
"""

import os
import signal


def add(a, b):
    os.kill(os.getpid(), signal.SIGKILL)
