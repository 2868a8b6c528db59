"""A writer killed with SIGKILL at random moments loses nothing that it had called durable."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.ledger import Ledger, LedgerReader

KILLS = 25

WRITE = """
import sys
from pathlib import Path
from cluster.ledger import Ledger, LedgerOptions, LedgerReader
directory = Path(sys.argv[1])
ledger = Ledger.open(directory, LedgerOptions(seal_rows=40, keep_segments=2))
number = LedgerReader(directory).count("score")
while True:
    for _ in range(7):
        row = {"task_id": "t" * (number % 50), "arm": "a", "seed": number, "repeat": 0, "outcome": "resolved"}
        ledger.append("score", row)
        number += 1
    ledger.flush()
    print(number, flush=True)
    if number % 3 == 0:
        ledger.compact()
"""


@pytest.mark.slow
def test_killed_writers(directory: Path, seeds: Callable[[Path], list[int]]) -> None:
    """Each number once and in order, at least as many as were reported durable, after every kill."""
    chance = random.Random(27)
    durable = 0
    for _ in range(KILLS):
        durable = max(durable, _write_and_kill(directory, chance.uniform(0.0, 0.5)))
        found = seeds(directory)
        assert found == list(range(len(found)))
        assert len(found) >= durable
        durable = len(found)
    assert durable > KILLS
    Ledger.open(directory).close()
    assert seeds(directory) == list(range(durable))
    LedgerReader(directory).verify()


def _write_and_kill(directory: Path, after: float) -> int:
    """How many rows the writer had called durable when it was killed, `after` seconds after its first flush."""
    with subprocess.Popen([sys.executable, "-c", WRITE, str(directory)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(after)
        process.kill()
        rest = process.stdout.read()
    reported = [line for line in (first + rest).splitlines(keepends=True) if line.endswith("\n")]
    return int(reported[-1])
