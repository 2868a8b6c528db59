"""Kills the witness and leaves a report of its own in its place.

Level: channel
Says: the report is not signed by the witness
"""

import json
import os
import signal
import time
from pathlib import Path


def argument(words, name):
    return words[words.index(name) + 1]


for process in Path("/proc").iterdir():
    try:
        words = (process / "cmdline").read_text().split("\0")
    except OSError:
        continue
    ours = str(Path(os.environ["HOME"]).parent)
    if any(word.endswith("witness.py") for word in words) and ours in " ".join(words):
        os.kill(int(process.name), signal.SIGKILL)
        time.sleep(0.2)
        events = [{"event": "session", "framework": "pytest"}]
        for test_id in ("tests/test_pkg.py::test_add", "tests/test_pkg.py::test_other"):
            events += [{"event": "start", "id": test_id}, {"event": "result", "id": test_id, "status": "passed"}]
        record = {"schema": 1, "command": {"exit_status": 0}, "sessions": [{"events": events}]}
        Path(argument(words, "--report")).write_text(json.dumps(record) + '\n{"mac": "%s"}\n' % ("0" * 64))
os._exit(0)
