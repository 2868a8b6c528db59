"""From a repository to a verdict: build, pin, verify, grade by the lock, and make room again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from parsimony import cli
from tests.cluster.images.test_building import Project, git, project, python_base, template, write
from tests.cluster.images.test_pinning import parsimony

__all__ = ["project", "python_base", "template"]

TEST = """\
import unittest

import m


class T(unittest.TestCase):
    def test_double(self):
        self.assertEqual(m.double(3), 6)
"""


def diff(project: Project, old: str, new: str) -> str:
    return git(project.root, "diff", "--full-index", old, new) + "\n"


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_from_a_repository_to_a_verdict(
    python_base: str,
    engine: Any,
    own_name: str,
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PARSIMONY_STATE", str(tmp_path / "state"))
    path = write(project, f"{own_name}/{{instance_id}}:1")
    text = path.read_text().replace("name: demo", f"name: {own_name}").replace("python:3.11-slim-bookworm", python_base)
    path.write_text(text)
    (project.root / "test_m.py").write_text(TEST)
    git(project.root, "add", "-A")
    git(project.root, "commit", "-q", "-m", "tests")
    gold, tests = diff(project, project.two, project.fix), diff(project, project.fix, "HEAD")
    row = {
        "instance_id": "t-two", "repo": "o/r", "base_commit": project.two, "image": f"{own_name}/t-two:1",
        "FAIL_TO_PASS": ["test_m.T.test_double"], "PASS_TO_PASS": [], "patch": gold, "test_patch": tests,
        "test_cmd": "python -m unittest -v test_m", "log_format": "unittest", "language": "python",
    }  # fmt: skip
    (tmp_path / "tasks.jsonl").write_text(json.dumps(row) + "\n")
    said = {"instance_id": "t-two", "arm": "gold", "seed": 1, "model_patch": gold}
    (tmp_path / "said.jsonl").write_text(json.dumps(said) + "\n")
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text("tasks: tasks.jsonl\npredictions: said.jsonl\nimages_lock: images.lock.json\nfootprint: 'off'\n")
    lock = tmp_path / "images.lock.json"

    def run(out: str) -> int:
        monkeypatch.setattr(sys, "argv", ["parsimony", "run", str(sweep), "--out", str(tmp_path / out), "--json"])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0)

    assert run("early") == cli.CANNOT
    assert "is not there; write it with `parsimony images pin`" in capsys.readouterr().err
    assert parsimony(monkeypatch, capsys, "build", path, "--lock", lock)[0] == cli.DONE
    status, found = parsimony(monkeypatch, capsys, "verify", sweep)
    checks = {name: one["verdict"] for name, one in found["tasks"][0]["checks"].items()}
    assert (status, checks["gold"], checks["base"], checks["image.objects"]) == (cli.DONE, "pass", "pass", "pass"), (
        found
    )
    assert run("run") == cli.DONE
    assert json.loads(capsys.readouterr().out)["arms"]["gold"]["resolved"] == 1

    # Somebody moves the name: nothing is graded on another image than the pinned one.
    engine.tag(python_base, f"{own_name}/t-two", "1", force=True)
    assert run("moved") == cli.CANNOT
    assert "bring the pinned image here" in capsys.readouterr().err
    assert parsimony(monkeypatch, capsys, "verify", sweep)[0] == cli.NO
    assert parsimony(monkeypatch, capsys, "build", path)[0] == cli.DONE
    assert run("run") == cli.DONE, "the same image again has the same verdicts"
    assert json.loads(capsys.readouterr().out)["arms"]["gold"]["resolved"] == 1
    status, found = parsimony(monkeypatch, capsys, "gc", "--budget", "1", "--spare", "0", "--remove")
    assert f"{own_name}/t-two:1" in found["removed"]
    assert not any(own_name in name for image in engine.images() for name in image["RepoTags"] or ())
