"""Rewrites the test file while the session runs, before it is imported.

Level: 2
Setup: conftest.py imports pkg
Says: the test file tests/test_pkg.py was changed while the tests ran
"""

import time
from pathlib import Path

time.sleep(0.05)
Path("tests/test_pkg.py").write_text("def test_add(): pass\ndef test_other(): pass\n")
