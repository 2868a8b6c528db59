"""Writes what looks like an event to every descriptor of the process, the reporter's socket among them.

Level: channel
Says: something else than the reporter wrote to its channel
"""

import contextlib
import os
import stat
from pathlib import Path

line = b'1 0 {"event":"result","id":"tests/test_pkg.py::test_add","status":"passed"}\n'
for entry in Path("/proc/self/fd").iterdir():
    with contextlib.suppress(OSError):
        if stat.S_ISSOCK(os.fstat(int(entry.name)).st_mode):
            os.write(int(entry.name), line)
