"""The probe, run by the shells that are here, on repositories that hide the answer in every way that we know."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from parsimony.audit import Layout
from parsimony.audit.probe import Facts, probe_task, read_facts, telling_lines
from parsimony.tasks import Task

SHELLS = [shell for shell in ("sh", "bash", "dash", "busybox") if shutil.which(shell)]
DATES = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
LATER = {"GIT_AUTHOR_DATE": "2026-02-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-02-01T00:00:00Z"}
EARLIER = {"GIT_AUTHOR_DATE": "2025-02-01T00:00:00Z", "GIT_COMMITTER_DATE": "2025-02-01T00:00:00Z"}


class Repository:
    """A work tree with git."""

    def __init__(self, root: Path, files: Mapping[str, bytes]) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.write(files)
        self.commit("base")

    def git(self, *words: str, dates: Mapping[str, str] = DATES, data: bytes | None = None) -> str:
        settings = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
        environment = {**os.environ, **dates}
        done = subprocess.run(
            ["git", *settings, *words], cwd=self.root, env=environment, input=data, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def write(self, files: Mapping[str, bytes]) -> None:
        for path, content in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(content)

    def commit(self, message: str, dates: Mapping[str, str] = DATES) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message, dates=dates)
        return self.git("rev-parse", "HEAD")

    def look(self, task: Task, shell: str = "sh") -> Facts:
        script = probe_task(task).test_cmd
        assert script is not None
        command = ["busybox", "sh"] if shell == "busybox" else [shell]
        done = subprocess.run(command, cwd=self.root, input=script.encode(), capture_output=True, check=True)
        return read_facts(task, done.stdout)


@pytest.fixture
def repository(tmp_path: Path, layout: Layout) -> Repository:
    return Repository(tmp_path / "work", layout.files)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_clean_repository(repository: Repository, task: Task, layout: Layout, shell: str) -> None:
    facts = repository.look(task, shell)
    assert facts.whole
    assert facts.problems == []
    assert facts.files == {path: layout.files[path] for path in layout.files}
    assert (facts.commits, facts.later_count, facts.blobs, facts.blob_lines) == (0, 0, 0, 0)
    assert facts.fix == {"pkg/core.py": "absent"}
    assert facts.lines == len(telling_lines(task.patch)) > 0
    assert (facts.copies, facts.twins) == ([], [])
    assert facts.head == repository.git("rev-parse", "HEAD")


def test_the_state_of_the_tree_shows_every_change(repository: Repository, task: Task) -> None:
    first = repository.look(task).tree
    assert first
    assert repository.look(task).tree == first
    (repository.root / "pkg" / "core.py").write_bytes(b"changed\n")
    assert repository.look(task).tree != first
    repository.git("checkout", "-q", ".")
    (repository.root / "left.txt").write_bytes(b"left\n")
    assert repository.look(task).tree != first


def fix(repository: Repository, task: Task) -> None:
    repository.git("apply", "-", data=task.patch)


def test_a_fix_on_another_branch_is_found(repository: Repository, task: Task) -> None:
    repository.git("checkout", "-q", "-b", "next")
    fix(repository, task)
    commit = repository.commit("the fix", LATER)
    repository.git("checkout", "-q", "main")
    facts = repository.look(task)
    assert facts.fix == {"pkg/core.py": "stray"}
    assert facts.later_count == 1
    assert facts.later[0].endswith(f"{commit} the fix")
    assert facts.blob_lines == facts.lines


def test_a_fix_that_nothing_points_to_is_found(repository: Repository, task: Task) -> None:
    fix(repository, task)
    repository.commit("the fix", LATER)
    repository.git("reset", "-q", "--hard", "HEAD~1")
    repository.git("reflog", "expire", "--expire=now", "--all")
    facts = repository.look(task)
    assert facts.fix == {"pkg/core.py": "stray"}
    assert facts.later_count == 1


def test_a_fix_in_a_pack_is_found(repository: Repository, task: Task) -> None:
    repository.git("checkout", "-q", "-b", "next")
    fix(repository, task)
    repository.commit("the fix", LATER)
    repository.git("checkout", "-q", "main")
    repository.git("gc", "-q")
    assert not list((repository.root / ".git" / "objects").glob("[0-9a-f][0-9a-f]"))
    assert repository.look(task).fix == {"pkg/core.py": "stray"}


def test_a_blob_that_was_only_staged_is_found(repository: Repository, task: Task) -> None:
    fix(repository, task)
    repository.git("add", "-A")
    repository.git("reset", "-q", "--hard")
    facts = repository.look(task)
    assert facts.fix == {"pkg/core.py": "stray"}
    assert facts.commits == 0


def test_a_fix_with_other_changes_is_found_by_its_lines(repository: Repository, task: Task) -> None:
    repository.git("checkout", "-q", "-b", "next")
    fix(repository, task)
    path = repository.root / "pkg" / "core.py"
    path.write_bytes(path.read_bytes() + b"\n\nmore = 1\n")
    repository.commit("the fix and more", LATER)
    repository.git("checkout", "-q", "main")
    facts = repository.look(task)
    assert facts.fix == {"pkg/core.py": "absent"}
    assert facts.blob_lines == facts.lines > 0


def test_an_older_branch_is_no_later_commit(repository: Repository, task: Task) -> None:
    repository.git("checkout", "-q", "--orphan", "old")
    repository.commit("older", EARLIER)
    repository.git("checkout", "-q", "main")
    facts = repository.look(task)
    assert (facts.commits, facts.later_count) == (1, 0)


def test_a_fix_that_brings_back_the_past_is_told_apart(tmp_path: Path, task: Task, layout: Layout) -> None:
    repository = Repository(tmp_path / "work", layout.files)
    fix(repository, task)
    repository.commit("once right")
    repository.write(layout.files)
    repository.commit("the bug")
    assert repository.look(task).fix == {"pkg/core.py": "own"}


def test_a_copy_in_the_work_tree_is_a_twin(repository: Repository, task: Task) -> None:
    fix(repository, task)
    fixed = (repository.root / "pkg" / "core.py").read_bytes()
    repository.git("checkout", "-q", ".")
    repository.write({"vendor/core.py": fixed})
    assert repository.look(task).twins == ["vendor/core.py"]


def test_what_is_no_repository_says_so(tmp_path: Path, task: Task, layout: Layout) -> None:
    repository = Repository(tmp_path / "work", layout.files)
    shutil.rmtree(repository.root / ".git")
    facts = repository.look(task)
    assert facts.whole
    assert facts.problems
    assert facts.files["pkg/core.py"] == layout.files["pkg/core.py"]


def test_nothing_is_changed(repository: Repository, task: Task) -> None:
    def everything() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in repository.root.rglob("*") if path.is_file()}

    repository.look(task)  # git may write its index once
    before = everything()
    repository.look(task)
    assert everything() == before


@pytest.mark.parametrize(
    "line",
    [b"parsimony-probe", b"parsimony-probe file 99999 QUJD", b"parsimony-probe file x QUJD",
     b"parsimony-probe later_count x",
     b"parsimony-probe fix 7 stray", b"parsimony-probe \xff\xfe", b"parsimony-probe file 0 %%%"],
)  # fmt: skip
def test_odd_lines_do_no_harm(task: Task, line: bytes) -> None:
    facts = read_facts(task, line + b"\n")
    assert not facts.whole
    assert facts.problems
    assert facts.files == {}


def test_paths_of_every_kind_reach_the_shell_as_they_are(
    tmp_path: Path, task: Task, apply: Callable[[Mapping[str, bytes], bytes], dict[str, bytes]]
) -> None:
    from dataclasses import replace

    from parsimony.audit.diffs import diff

    odd = "pkg/a b's $(x).py"
    base = {odd: b"x = 1\n"}
    changed = replace(task, patch=diff(dict(base), {odd: b"value = compute(the, answer)\n"}))
    facts = Repository(tmp_path / "odd", base).look(changed)
    assert facts.files == base
    assert facts.fix == {odd: "absent"}
