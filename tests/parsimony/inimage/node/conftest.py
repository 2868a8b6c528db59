"""Runs JavaScript projects under the node witness, in a throw-away work tree."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import parsimony
from parsimony.execution import TestStatus
from parsimony.testreports import channel
from parsimony.testreports.model import Canaries, Report

INIMAGE = Path(parsimony.__file__).parent / "inimage" / "node"
PACKAGES = ("mocha@10", "tape@5", "jest@29")


@dataclass
class Outcome:
    """One run: exit status and output of the witness, its report file, and what the reader makes of that."""

    status: int
    output: str
    data: bytes
    report: Report

    @property
    def record(self) -> dict[str, object]:
        """The report file as it is."""
        record: dict[str, object] = json.loads(self.data.partition(b"\n")[0])
        return record

    @property
    def command(self) -> dict[str, object]:
        """What the report says of the command."""
        command = self.record["command"]
        assert isinstance(command, dict)
        return command

    @property
    def statuses(self) -> dict[str, str]:
        """Status by test id."""
        return {test_id: str(result.status) for test_id, result in self.report.tests.items()}

    def convinces(self, *test_ids: str) -> bool:
        """Would a grader believe that all these tests passed?"""
        passed = all(
            test_id in self.report.tests and self.report.tests[test_id].status is TestStatus.PASSED
            for test_id in test_ids
        )
        return passed and not self.report.problems and not self.report.tampered


@dataclass
class Bench:
    """A work tree, and a place outside of it for the witness. The latter's path holds a blank."""

    tree: Path
    place: Path
    node: str

    def write(self, files: Mapping[str, str]) -> None:
        """Put files into the work tree."""
        for name, text in files.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def run(
        self,
        command: str,
        *,
        candidate: Collection[str] = (),
        timeout: float = 60.0,
        environment: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Run a shell command under the witness; `candidate` are the files that hold the candidate's bytes."""
        key = secrets.token_bytes(32)
        canaries = Canaries(f"c{secrets.token_hex(8)}", f"c{secrets.token_hex(8)}")
        names = {"pass": canaries.pass_name, "fail": canaries.fail_name}
        told = self.place / "secrets.json"
        told.write_text(json.dumps({"key": key.hex(), "canaries": names, "framework_hint": "node-tap"}))
        report = self.place / "report.json"
        report.unlink(missing_ok=True)
        witness = [self.node, str(self.place / "node" / "witness.cjs"), "--secrets", str(told)]
        witness += ["--report", str(report), "--timeout", str(timeout), "--", "/bin/sh", "-c", command]
        path = f"{Path(self.node).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("NODE_", "npm_", "PARSIMONY_"))
        }
        done = subprocess.run(
            witness,
            cwd=self.tree,
            env={**kept, "PATH": path, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout + 60,
            check=False,
        )
        assert not told.exists(), "the secrets have to be gone"
        data = report.read_bytes()
        read = channel.read(data, canaries=canaries, key=key, candidate_files=candidate)
        return Outcome(done.returncode, done.stdout.decode("utf-8", "replace"), data, read)

    def plain(self, command: str) -> str:
        """Output of a shell command without the witness."""
        done = subprocess.run(["/bin/sh", "-c", command], cwd=self.tree, capture_output=True, text=True, check=False)
        return done.stdout


@pytest.fixture(scope="session")
def node() -> str:
    """A node that has events of node:test."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("there is no node on this machine")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").split(".", maxsplit=1)[0]) < 18:
        pytest.skip(f"node {version} is too old")
    return found


@pytest.fixture
def bench(tmp_path: Path, node: str) -> Bench:
    """A fresh work tree."""
    tree, place = tmp_path / "tree", tmp_path / "in box"
    tree.mkdir()
    place.mkdir()
    shutil.copytree(INIMAGE, place / "node")
    return Bench(tree, place, node)


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory, node: str) -> Path:
    """A folder with node_modules that hold the test frameworks."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm on this machine")
    folder = tmp_path_factory.mktemp("packages")
    (folder / "package.json").write_text('{"name": "packages", "private": true}')
    options = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
    try:
        subprocess.run([npm, "install", *options, *PACKAGES], cwd=folder, check=True, timeout=240, capture_output=True)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"npm could not install the frameworks: {error}")
    return folder / "node_modules"


@pytest.fixture
def framework_bench(bench: Bench, packages: Path) -> Iterator[Bench]:
    """A fresh work tree with mocha, tape and jest installed."""
    (bench.tree / "node_modules").symlink_to(packages)
    yield bench
    (bench.tree / "node_modules").unlink()
