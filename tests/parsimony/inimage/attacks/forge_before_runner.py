"""Speaks as a whole session, evidence included, while unittest loads the tests, before any run has begun.

Level: channel
Runner: unittest
Says: ended without a word.*ended with 0
"""

import os
from pathlib import Path

import parsimony_channel
from parsimony_guard import session_event

environ = dict(entry.split("=", 1) for entry in Path("/proc/self/environ").read_text().split("\0") if "=" in entry)
client = parsimony_channel.connect(environ["PARSIMONY_CHANNEL"])
client.send(session_event("unittest", "3"))
client.send({"event": "loaded", "when": "start", "code": {}, "findings": [], "tests": []})
tests = ("tests.test_unit.T.test_add", "tests.test_unit.T.test_other", client.canaries["pass"], client.canaries["fail"])
for test_id in tests:
    client.send({"event": "start", "id": test_id})
    status = "failed" if test_id == client.canaries["fail"] else "passed"
    client.send({"event": "result", "id": test_id, "status": status, "seconds": 0.1})
client.send({"event": "finish", "exit_status": 0, "started": len(tests), "finished": len(tests)})
os._exit(0)
