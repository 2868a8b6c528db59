"""Writes passed lines to every descriptor that leads to the real standard output, then ends with 0.

Level: 1
Says: ended without a word.*ended with 0
"""

import contextlib
import os

for descriptor in range(1, 30):
    with contextlib.suppress(OSError):
        os.write(descriptor, b"PASSED tests/test_pkg.py::test_add\nPASSED tests/test_pkg.py::test_other\n")
os._exit(0)
