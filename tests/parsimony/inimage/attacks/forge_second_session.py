"""Opens a second session from the same process, reports what it likes there, and leaves.

Level: channel
Says: ended without a word.*ended with 0
"""

import os
from pathlib import Path

import parsimony_channel
from parsimony_guard import session_event

environ = dict(entry.split("=", 1) for entry in Path("/proc/self/environ").read_text().split("\0") if "=" in entry)
client = parsimony_channel.connect(environ["PARSIMONY_CHANNEL"])
count = 0
client.send(session_event("pytest", "9"))
for test_id, status in (
    ("tests/test_pkg.py::test_add", "passed"),
    ("tests/test_pkg.py::test_other", "passed"),
    (client.canaries["pass"], "passed"),
    (client.canaries["fail"], "failed"),
):
    client.send({"event": "start", "id": test_id})
    client.send({"event": "result", "id": test_id, "status": status, "seconds": 0.1})
    count += 1
client.send({"event": "finish", "exit_status": 0, "started": count, "finished": count})
os._exit(0)
