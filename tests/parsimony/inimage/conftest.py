"""Runs commands under the witness in a throw-away work tree."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import parsimony
from parsimony.testreports import channel
from parsimony.testreports.model import Canaries, Report

INIMAGE = Path(parsimony.__file__).parent / "inimage" / "python"


@dataclass
class Outcome:
    """One run under the witness: its exit status, output and report file, and what the reader makes of that."""

    status: int
    output: str
    data: bytes
    report: Report
    bench: Bench

    def read(self, candidate_files: set[str] | None) -> Report:
        """The same report file, read knowing other files of the candidate."""
        return self.bench.read(self.data, candidate_files)

    @property
    def record(self) -> dict[str, object]:
        """The report file as it is."""
        record: dict[str, object] = json.loads(self.data.partition(b"\n")[0])
        return record

    @property
    def statuses(self) -> dict[str, str]:
        """Status by test id."""
        return {test_id: str(result.status) for test_id, result in self.report.tests.items()}

    def events(self, kind: str) -> list[dict[str, object]]:
        """All events of one kind."""
        sessions = self.record["sessions"]
        assert isinstance(sessions, list)
        return [event for session in sessions for event in session["events"] if event["event"] == kind]


@dataclass
class Bench:
    """A work tree, and a place outside of it for the witness."""

    tree: Path
    outside: Path
    canaries: Canaries = field(default_factory=lambda: Canaries(f"c{secrets.token_hex(8)}", f"c{secrets.token_hex(8)}"))
    key: str = field(default_factory=lambda: secrets.token_hex(32))
    python: str = sys.executable
    witness_python: str = sys.executable
    witness_prefix: list[str] = field(default_factory=list)

    def write(self, files: Mapping[str, str]) -> None:
        """Put files into the work tree."""
        for name, text in files.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run(
        self,
        command: str,
        *,
        timeout: float = 120,
        candidate_files: set[str] | None = None,
        environment: Mapping[str, str] | None = None,
        watch: list[str] | None = None,
    ) -> Outcome:
        """Run a shell command under the witness and read its report. `python` and `pytest` are the bench's."""
        inbox, out = self.outside / "in", self.outside / "out"
        shutil.rmtree(inbox, ignore_errors=True)
        shutil.copytree(INIMAGE, inbox / "python", ignore=shutil.ignore_patterns("__pycache__"))
        out.mkdir(exist_ok=True)
        (out / "report.json").unlink(missing_ok=True)
        secret = {
            "key": self.key,
            "canaries": {"pass": self.canaries.pass_name, "fail": self.canaries.fail_name},
            "framework_hint": "pytest",
            "watch": watch or [],
        }
        (inbox / "secrets.json").write_text(json.dumps(secret))
        words = [
            "-I",
            "-S",
            "-B",
            *self.witness_prefix,
            str(inbox / "python" / "witness.py"),
            "--secrets",
            str(inbox / "secrets.json"),
        ]
        words += ["--report", str(out / "report.json"), "--timeout", str(timeout), "--", "/bin/bash", "-c", command]
        done = subprocess.run(
            [self.witness_python, *words],
            cwd=self.tree,
            env=self.environment(environment or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=timeout + 100,
        )
        path = out / "report.json"
        data = path.read_bytes() if path.is_file() else b""
        return Outcome(
            done.returncode, done.stdout.decode("utf-8", "replace"), data, self.read(data, candidate_files), self
        )

    def read(self, data: bytes, candidate_files: set[str] | None) -> Report:
        """What the reader makes of a report file."""
        key = bytes.fromhex(self.key)
        return channel.read(
            data, canaries=self.canaries, key=key, candidate_files=candidate_files, added_files=candidate_files
        )

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """A plain environment in which `python` and `pytest` are those of the bench."""
        path = os.pathsep.join((str(Path(self.python).parent), "/usr/local/bin", "/usr/bin", "/bin"))
        return {"PATH": path, "HOME": str(self.outside), "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", **more}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """An empty work tree under the witness."""
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    tree.mkdir()
    outside.mkdir()
    return Bench(tree, outside)
