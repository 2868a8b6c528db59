"""`parsimony reap`: lists what a dead run left, removes it when told to, and leaves living runs and strangers alone."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from cluster.ledger import Ledger
from cluster.ledger.lock import WriterLock
from parsimony import cli

RUN = "0123456789ab"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run that began, and whose driver is gone."""
    ledger = Ledger.open(tmp_path / "run" / "ledger")
    ledger.append("event", {"at": 0.0, "name": "run.started", "data": json.dumps({"run_id": RUN})})
    ledger.flush()
    ledger.close()
    (tmp_path / "run" / "sweep.yaml").write_text("name: x\n")
    return tmp_path / "run"


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places of the process sandbox, each with a process, whose sandbox is dead."""
    root = tmp_path / "places"
    root.mkdir()
    monkeypatch.setenv("TMPDIR", str(root))
    monkeypatch.setattr(tempfile, "tempdir", str(root))
    code = """
import asyncio, sys
from cluster.sandboxes import labels
from cluster.sandboxes.process import ProcessSandbox
from parsimony.execution import ExecutionRequest, Limits
async def main():
    sandbox = await ProcessSandbox.open(slots=1, isolation="process")
    marks = {labels.RUN: sys.argv[1], labels.EXPIRES: sys.argv[2]}
    await sandbox.run(ExecutionRequest("key", sys.argv[1], ("/bin/sh", "-c", "sleep 60"), {}, limits=Limits(cpus=0.5),
                                       labels=marks))
asyncio.run(main())
"""
    future = str(int(time.time()) + 10**6)
    drivers = [subprocess.Popen([sys.executable, "-c", code, run_id, future]) for run_id in (RUN, "another-run")]
    try:
        deadline = time.monotonic() + 100
        while len(list(root.rglob("owner.json"))) < 2:
            assert all(driver.poll() is None for driver in drivers), "a driver ended by itself"
            assert time.monotonic() < deadline, "the sandboxes did not start"
            time.sleep(0.1)
    finally:
        for driver in drivers:
            driver.kill()
            driver.wait()


def parsimony(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, Any]:
    monkeypatch.setattr(sys, "argv", ["parsimony", "reap", *map(str, words), "--sandbox", "process", "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out = capsys.readouterr().out
    return int(ended.value.code or 0), json.loads(out) if out else None


@pytest.mark.usefixtures("left")
def test_first_a_list_then_the_removal(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parsimony(monkeypatch, capsys, run) == (cli.NO, {"sandbox": "process", "left": [RUN]})
    assert parsimony(monkeypatch, capsys, run) == (cli.NO, {"sandbox": "process", "left": [RUN]}), "nothing was touched"
    assert parsimony(monkeypatch, capsys) == (cli.DONE, {"sandbox": "process", "left": []}), (
        "nothing is past its expiry"
    )
    assert parsimony(monkeypatch, capsys, run, "--remove") == (cli.DONE, {"sandbox": "process", "removed": [RUN]})
    assert parsimony(monkeypatch, capsys, run) == (cli.DONE, {"sandbox": "process", "left": []})


def test_a_living_run_is_left_alone(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = WriterLock(run / "ledger")
    try:
        assert parsimony(monkeypatch, capsys, run, "--remove") == (cli.CANNOT, None)
    finally:
        lock.release()


def test_a_folder_that_is_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parsimony(monkeypatch, capsys, tmp_path)[0] == cli.CANNOT
