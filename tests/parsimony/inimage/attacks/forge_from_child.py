"""A child process reports for the tests, which then never run.

Level: channel
Outcome: not resolved
Notes: was opened from inside another session and was left out
"""

import os
from pathlib import Path


def forge():

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


if os.fork() == 0:
    forge()
    os._exit(0)
os.wait()
raise ImportError("no tests today")
