"""A new module of the work tree with the name of one that pytest needs, which `python -m pytest` finds first.

Level: 2
File: iniconfig.py
Says: the new module iniconfig.py was loaded before the test runner
"""

import sys

hidden = [entry for entry in sys.path if entry in ("", sys.path[0])]
sys.path[:] = [entry for entry in sys.path if entry not in hidden]
del sys.modules["iniconfig"]
import iniconfig  # noqa: E402

sys.path[:0] = hidden
globals().update(vars(iniconfig))
